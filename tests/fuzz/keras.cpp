// Keras' files: HDF5, archives, JSON, and every value in them. The first byte selects the rest: a
// whole file; the configuration and the weights of an archive, which then has correct checksums; or
// an HDF5 file in which the checksums that can be found are corrected.

#include <cstring>

#include "core/io/hdf5/bytes.h"
#include "core/io/zip/zip.h"
#include "models/keras/keras_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

// The size of a value is checked against the bytes of the file; this limits the file.
constexpr int64_t kMostElements = 1 << 22;

void ReadAll(const std::vector<KerasWeight>& weights) {
  volatile unsigned seen = 0;  // keeps the compiler from removing the reads
  for (const KerasWeight& weight : weights) {
    if (weight.shape().elements() > kMostElements) continue;
    Takes([&] {
      const Tensor tensor = weight.Read();
      Check(tensor.dtype() == weight.dtype() && tensor.shape() == weight.shape());
      if (tensor.bytes() > 0) seen = seen + static_cast<const unsigned char*>(tensor.raw())[0];
    });
  }
}

void ReadObject(const KerasObject& object) {
  ReadAll(object.weights);
  for (const auto& [class_name, layers] : object.layers) {
    for (const KerasObject& layer : layers) ReadObject(layer);
  }
  for (const auto& [name, part] : object.parts) ReadObject(part);
}

void SetSum(std::string& bytes, size_t begin, size_t size) {
  if (size < 4 || begin + size > bytes.size()) return;
  const uint32_t sum = Hdf5Checksum(std::string_view(bytes).substr(begin, size - 4));
  std::memcpy(bytes.data() + begin + size - 4, &sum, sizeof sum);
}

// The size of a header "OHDR": flags, and a size of 1 to 8 bytes after the optional fields.
size_t HeaderSize(const std::string& bytes, size_t at) {
  if (at + 40 > bytes.size()) return 0;
  const auto flags = static_cast<unsigned char>(bytes[at + 5]);
  const size_t words = 6 + ((flags & 0x20U) != 0 ? 16 : 0) + ((flags & 0x10U) != 0 ? 4 : 0);
  uint64_t size = 0;
  std::memcpy(&size, bytes.data() + at + words, size_t{1} << (flags & 3U));
  return size > bytes.size() ? 0 : words + (size_t{1} << (flags & 3U)) + size + 4;
}

// Corrects the checksums of the superblock, of headers, of heaps, and of trees with their roots.
std::string WithSums(std::string bytes) {
  if (bytes.size() > 48 && (bytes[8] == 2 || bytes[8] == 3)) SetSum(bytes, 0, 48);
  for (size_t at = 0; at + 4 <= bytes.size(); ++at) {
    const std::string_view signature = std::string_view(bytes).substr(at, 4);
    if (signature == "OHDR") SetSum(bytes, at, HeaderSize(bytes, at));
    if (signature == "FRHP") SetSum(bytes, at, 146);
    if (signature != "BTHD" || at + 38 > bytes.size()) continue;
    SetSum(bytes, at, 38);
    const auto record = LoadLittle<uint16_t>(bytes.data() + at + 10);
    const auto root = LoadLittle<uint64_t>(bytes.data() + at + 16);
    const auto count = LoadLittle<uint16_t>(bytes.data() + at + 24);
    if (root < bytes.size()) SetSum(bytes, root, 10 + size_t{record} * count);
  }
  return bytes;
}

}  // namespace

void RunKeras(std::string_view input) {
  const uint8_t choice = TakeChoice(input) % 3;
  std::string bytes(input);
  if (choice == 1) {
    const std::string_view config = TakePart(input);
    bytes = ZipArchive({{"config.json", config}, {"model.weights.h5", input}});
  } else if (choice == 2) {
    bytes = WithSums(std::move(bytes));
  }
  const KerasFile file = KerasFile::Of("file", std::move(bytes));
  for (const KerasLayerWeights& layer : file.layers()) ReadAll(layer.weights);
  ReadAll(file.top_level().weights);
  ReadAll(file.optimizer().weights);
  ReadObject(file.root());
}

}  // namespace tpuest::fuzz
