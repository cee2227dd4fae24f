// IDX, the format of MNIST (yann.lecun.com/exdb/mnist): two zero bytes, the element type (8:
// uint8), the number of dimensions, each dimension as a big-endian uint32, and the elements. Plain
// or gzip, which the first bytes tell.

#include "core/base/process/files.h"
#include "core/io/byte_stream.h"
#include "core/tensor/limits.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

constexpr uint8_t kIdxUint8 = 8;

struct Idx {
  std::string bytes;
  std::vector<int64_t> dims;
  size_t begin = 0;  // offset of the elements
};

uint32_t BigEndian(const std::string& bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = (word << 8) | static_cast<uint8_t>(bytes[at + i]);
  return word;
}

[[noreturn]] void Damaged(const std::string& path, const std::string& what) {
  throw Error(Code::kData, fmt::format("{}: {}", path, what));
}

void CheckHeader(const Idx& idx, const std::string& path, size_t rank) {
  if (idx.bytes.size() < 4) {
    Damaged(path, fmt::format("expected an IDX header of 4 bytes or more, found {} bytes",
                              idx.bytes.size()));
  }
  const uint32_t magic = BigEndian(idx.bytes, 0);
  const auto expected = static_cast<uint32_t>(kIdxUint8 << 8 | rank);
  if (magic != expected) {
    Damaged(path, fmt::format("expected an IDX file of uint8 with {} dimension{} (magic "
                              "{:08x}), found magic {:08x}",
                              rank, rank == 1 ? "" : "s", expected, magic));
  }
  if (idx.bytes.size() < 4 + 4 * rank) {
    Damaged(path, fmt::format("an IDX header of {} bytes expected, found {} bytes", 4 + 4 * rank,
                              idx.bytes.size()));
  }
}

Idx ReadIdx(const std::string& path, size_t rank, const std::string& key) {
  if (!FileExists(path)) {
    throw Error(Code::kData, path + ": no such file",
                "relative names count from the job file's folder")
        .Key(key);
  }
  Idx idx;
  idx.bytes = ReadAll(*OpenStream(path));
  CheckHeader(idx, path, rank);
  idx.begin = 4 + 4 * rank;
  for (size_t i = 0; i < rank; ++i) idx.dims.push_back(BigEndian(idx.bytes, 4 + 4 * i));
  // The product of three dimensions of 32 bits may overflow 64 bits, even if one is 0.
  const Shape shape(idx.dims);
  if (!IsCountable(shape)) Damaged(path, "its dimensions are too large");
  const auto elements = static_cast<uint64_t>(shape.elements());
  if (idx.bytes.size() - idx.begin != elements) {
    Damaged(path, fmt::format("expected {} bytes after the header for {}, found {}", elements,
                              shape.Text(), idx.bytes.size() - idx.begin));
  }
  return idx;
}

std::vector<TensorSpec> Columns(const Idx& images, bool with_labels) {
  std::vector<TensorSpec> columns = {
      {"image", DType::kUint8, Shape({images.dims[1] * images.dims[2]})}};
  if (with_labels) columns.push_back({"label", DType::kInt32, Shape()});
  return columns;
}

class IdxRecords final : public IndexedSource {
 public:
  IdxRecords(std::string path, Idx images, std::vector<int32_t> labels)
      : IndexedSource(Columns(images, !labels.empty()), {std::move(path)}),
        images_(std::move(images)),
        labels_(std::move(labels)),
        pixels_(images_.dims[1] * images_.dims[2]) {}
  [[nodiscard]] int64_t size() const override { return images_.dims[0]; }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    row.columns.resize(columns().size());
    // Pixels are not copied: a row is two pointers.
    row.columns[0] = {images_.bytes.data() + images_.begin + index * pixels_, pixels_};
    if (!labels_.empty()) row.columns[1] = {&labels_[static_cast<size_t>(index)], 1};
  }

 private:
  Idx images_;
  std::vector<int32_t> labels_;  // empty if there are none
  int64_t pixels_;
};

}  // namespace

std::shared_ptr<IndexedSource> OpenIdx(const IdxSource& options, const std::string& key) {
  Idx images = ReadIdx(options.images, 3, key + ".images");
  std::vector<int32_t> labels;
  if (options.labels) {
    const Idx read = ReadIdx(*options.labels, 1, key + ".labels");
    if (read.dims[0] != images.dims[0]) {
      Damaged(*options.labels, fmt::format("expected {} labels, one per image of {}, found {}",
                                           images.dims[0], options.images, read.dims[0]));
    }
    const auto* const first = reinterpret_cast<const uint8_t*>(read.bytes.data() + read.begin);
    labels.assign(first, first + read.dims[0]);
  }
  return std::make_shared<IdxRecords>(options.images, std::move(images), std::move(labels));
}

}  // namespace tpuest::data
