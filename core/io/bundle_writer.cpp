#include <algorithm>

#include "core/base/process/files.h"
#include "core/io/bundle.h"
#include "core/io/crc32c.h"
#include "core/io/data_shard.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/table.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

// Strings are stored as their lengths (varints), the masked CRC of these lengths taken as words,
// and their bytes. The tensor's CRC goes over the words, the masked CRC and the bytes.
uint32_t AppendStrings(DataShardWriter& shard, std::span<const std::string_view> strings) {
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

uint32_t AppendValues(DataShardWriter& shard, const StreamedTensor& tensor) {
  uint32_t crc = 0;
  tensor.write([&](std::string_view bytes) {
    shard.Append(bytes);
    crc = Crc32c(bytes, crc);
  });
  return crc;
}

uint32_t AppendValues(DataShardWriter& shard, const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return AppendStrings(shard, tensor.strings());
  const std::string_view bytes(static_cast<const char*>(tensor.raw()), tensor.bytes());
  shard.Append(bytes);
  return Crc32c(bytes);
}

// Bytes of the values; an estimate for strings.
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

// Assigns the tensors, ordered by name, to shards; begins a new shard when the next tensor does not
// fit.
std::vector<ShardPlan> ShardsOf(const std::string& prefix, const std::vector<NamedTensor>& tensors,
                                int64_t shard_bytes) {
  std::vector<ShardPlan> shards(1);
  int64_t held = 0;
  for (const NamedTensor& named : tensors) {
    const int64_t bytes = BytesOf(named);
    if (held > 0 && held + bytes > shard_bytes) {
      shards.emplace_back();
      held = 0;
    }
    held += bytes;
    shards.back().tensors.push_back(&named);
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].path = BundleDataPath(prefix, static_cast<int>(i), static_cast<int>(shards.size()));
  }
  return shards;
}

StoredValues WriteValues(DataShardWriter& shard, const NamedTensor& named) {
  const int64_t before = shard.size();
  const uint32_t crc = named.streamed != nullptr ? AppendValues(shard, *named.streamed)
                                                 : AppendValues(shard, named.tensor);
  return {.bytes = shard.size() - before, .crc = crc};
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

void WriteBundle(const std::string& prefix, std::vector<NamedTensor> tensors,
                 const BundleOptions& options) {
  std::sort(tensors.begin(), tensors.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  for (const NamedTensor& named : tensors) {
    Check(named.streamed != nullptr || named.tensor.valid(), "\"{}\" has no tensor", named.name);
  }
  const std::vector<ShardPlan> shards = ShardsOf(prefix, tensors, options.shard_bytes);
  std::map<size_t, std::vector<StoredValues>> written;
  if (options.elsewhere != nullptr) written = options.elsewhere(shards);
  std::vector<std::unique_ptr<DataShardWriter>> own;
  TableBuilder index;
  index.Add("", HeaderBytes(static_cast<int>(shards.size())));
  for (size_t number = 0; number < shards.size(); ++number) {
    const bool is_own = !written.contains(number);
    if (is_own)
      own.push_back(std::make_unique<DataShardWriter>(shards[number].path, options.fsync));
    int64_t offset = 0;
    for (size_t i = 0; i < shards[number].tensors.size(); ++i) {
      const NamedTensor& named = *shards[number].tensors[i];
      const StreamedTensor* const streamed = named.streamed.get();
      const StoredValues stored =
          is_own ? WriteValues(*own.back(), named) : written.at(number).at(i);
      const DType dtype = streamed != nullptr ? streamed->dtype : named.tensor.dtype();
      Check(dtype == DType::kString || stored.bytes == BytesOf(named), "\"{}\" gave {} of {} bytes",
            named.name, stored.bytes, BytesOf(named));
      pb::BundleEntryProto entry;
      entry.set_dtype(static_cast<pb::DataType>(dtype));
      ToProto(streamed != nullptr ? streamed->shape : named.tensor.shape(), *entry.mutable_shape());
      entry.set_shard_id(static_cast<int>(number));
      entry.set_offset(offset);
      entry.set_size(stored.bytes);
      entry.set_crc32c(MaskCrc(stored.crc));
      index.Add(named.name, ToBytes(entry));
      offset += stored.bytes;
    }
  }
  // The index is written last, so the shards of an existing index are complete.
  for (const std::unique_ptr<DataShardWriter>& shard : own) shard->Commit();
  WriteFileAtomically(BundleIndexPath(prefix), index.Finish(), options.fsync);
}

}  // namespace tpuest
