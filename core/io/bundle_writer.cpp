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

uint32_t AppendValues(Shard& shard, const StreamedTensor& tensor) {
  uint32_t crc = 0;
  tensor.write([&](std::string_view bytes) {
    shard.Append(bytes);
    crc = Crc32c(bytes, crc);
  });
  return crc;
}

uint32_t AppendValues(Shard& shard, const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return AppendStrings(shard, tensor.strings());
  const std::string_view bytes(static_cast<const char*>(tensor.raw()), tensor.bytes());
  shard.Append(bytes);
  return Crc32c(bytes);
}

// Bytes of the values; of strings about so many.
int64_t BytesOf(const NamedTensor& named) {
  if (named.streamed != nullptr) {
    return named.streamed->shape.elements() * static_cast<int64_t>(SizeOf(named.streamed->dtype));
  }
  if (named.tensor.dtype() != DType::kString) return static_cast<int64_t>(named.tensor.bytes());
  int64_t bytes = 0;
  for (const std::string_view value : named.tensor.strings()) {
    bytes += static_cast<int64_t>(value.size());
  }
  return bytes;
}

// The shard of each tensor: a new one where the one before has no room for it.
std::vector<int> ShardsOf(const std::vector<NamedTensor>& tensors, int64_t shard_bytes) {
  std::vector<int> shards;
  int shard = 0;
  int64_t held = 0;
  for (const NamedTensor& named : tensors) {
    const int64_t bytes = BytesOf(named);
    if (held > 0 && held + bytes > shard_bytes) {
      ++shard;
      held = 0;
    }
    held += bytes;
    shards.push_back(shard);
  }
  return shards;
}

std::string HeaderBytes(int num_shards) {
  pb::BundleHeaderProto header;
  header.set_num_shards(num_shards);
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

void WriteBundle(const std::string& prefix, std::vector<NamedTensor> tensors, bool fsync,
                 int64_t shard_bytes) {
  std::sort(tensors.begin(), tensors.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  const std::vector<int> shard_of = ShardsOf(tensors, shard_bytes);
  const int num_shards = shard_of.empty() ? 1 : shard_of.back() + 1;
  TableBuilder index;
  index.Add("", HeaderBytes(num_shards));
  std::vector<std::unique_ptr<Shard>> shards;
  const auto next_shard = [&] {
    const auto number = static_cast<int>(shards.size());
    shards.push_back(std::make_unique<Shard>(BundleDataPath(prefix, number, num_shards), fsync));
  };
  next_shard();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& named = tensors[i];
    if (shard_of[i] == static_cast<int>(shards.size())) next_shard();
    Shard& shard = *shards.back();
    const StreamedTensor* const streamed = named.streamed.get();
    Check(streamed != nullptr || named.tensor.valid(), "\"{}\" has no tensor", named.name);
    pb::BundleEntryProto entry;
    const DType dtype = streamed != nullptr ? streamed->dtype : named.tensor.dtype();
    entry.set_dtype(static_cast<pb::DataType>(dtype));
    ToProto(streamed != nullptr ? streamed->shape : named.tensor.shape(), *entry.mutable_shape());
    if (shards.size() > 1) entry.set_shard_id(shard_of[i]);
    entry.set_offset(shard.offset());
    entry.set_crc32c(MaskCrc(streamed != nullptr ? AppendValues(shard, *streamed)
                                                 : AppendValues(shard, named.tensor)));
    entry.set_size(shard.offset() - entry.offset());
    Check(dtype == DType::kString || entry.size() == BytesOf(named), "\"{}\" gave {} of {} bytes",
          named.name, entry.size(), BytesOf(named));
    index.Add(named.name, ToBytes(entry));
  }
  // The index goes last: a reader that finds it may trust the shards that it names.
  for (const std::unique_ptr<Shard>& shard : shards) shard->Commit();
  WriteFileAtomically(BundleIndexPath(prefix), index.Finish(), fsync);
}

}  // namespace tpuest
