#include <algorithm>

#include "core/base/files.h"
#include "core/io/bundle.h"
#include "core/io/crc32c.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/table.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

// A data shard that is being written.
class Shard {
 public:
  Shard(const std::string& path, bool fsync) : file_(path, fsync) {}

  void Append(std::string_view bytes) {
    offset_ += static_cast<int64_t>(bytes.size());
    if (bytes.size() >= kWriteBytes) {
      Flush();
      file_.Append(bytes);
      return;
    }
    buffer_ += bytes;
    if (buffer_.size() >= kWriteBytes) Flush();
  }
  void Commit() {
    Flush();
    file_.Commit();
  }
  [[nodiscard]] int64_t offset() const { return offset_; }

 private:
  void Flush() {
    file_.Append(buffer_);
    buffer_.clear();
  }
  AtomicFile file_;
  std::string buffer_;
  int64_t offset_ = 0;
};

// Strings are stored as their lengths (varints), the masked CRC of these lengths taken as words,
// and their bytes. The tensor's CRC goes over the words, the masked CRC and the bytes.
uint32_t AppendStrings(Shard& shard, std::span<const std::string_view> strings) {
  std::string lengths;
  std::string words;
  for (const std::string_view value : strings) {
    AppendVarint(lengths, value.size());
    if (value.size() <= UINT32_MAX) {
      AppendLittle(words, static_cast<uint32_t>(value.size()));
    } else {
      AppendLittle(words, static_cast<uint64_t>(value.size()));
    }
  }
  uint32_t crc = Crc32c(words);
  std::string stored;
  AppendLittle(stored, MaskCrc(crc));
  crc = Crc32c(stored, crc);
  shard.Append(lengths);
  shard.Append(stored);
  for (const std::string_view value : strings) {
    shard.Append(value);
    crc = Crc32c(value, crc);
  }
  return crc;
}

uint32_t AppendValues(Shard& shard, const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return AppendStrings(shard, tensor.strings());
  const std::string_view bytes(static_cast<const char*>(tensor.raw()), tensor.bytes());
  shard.Append(bytes);
  return Crc32c(bytes);
}

std::string HeaderBytes() {
  pb::BundleHeaderProto header;
  header.set_num_shards(1);
  header.set_endianness(pb::BundleHeaderProto::LITTLE);
  header.mutable_version()->set_producer(1);
  return ToBytes(header);
}

}  // namespace

std::string BundleIndexPath(std::string_view prefix) {
  return fmt::format("{}{}", prefix, kIndexEnding);
}

std::string BundleDataPath(std::string_view prefix, int shard, int num_shards) {
  return fmt::format("{}{}{:05}-of-{:05}", prefix, kDataEnding, shard, num_shards);
}

void WriteBundle(const std::string& prefix, std::vector<NamedTensor> tensors, bool fsync) {
  std::sort(tensors.begin(), tensors.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  TableBuilder index;
  index.Add("", HeaderBytes());
  Shard shard(BundleDataPath(prefix, 0, 1), fsync);
  for (const NamedTensor& named : tensors) {
    Check(named.tensor.valid(), "\"{}\" has no tensor", named.name);
    pb::BundleEntryProto entry;
    entry.set_dtype(static_cast<pb::DataType>(named.tensor.dtype()));
    ToProto(named.tensor.shape(), *entry.mutable_shape());
    entry.set_offset(shard.offset());
    entry.set_crc32c(MaskCrc(AppendValues(shard, named.tensor)));
    entry.set_size(shard.offset() - entry.offset());
    index.Add(named.name, ToBytes(entry));
  }
  // The index goes last: a reader that finds it may trust the shard that it names.
  shard.Commit();
  WriteFileAtomically(BundleIndexPath(prefix), index.Finish(), fsync);
}

}  // namespace tpuest
