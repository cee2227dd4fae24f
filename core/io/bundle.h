#pragma once
// Tensor bundles, TensorFlow's V2 checkpoints (its tensor_bundle.h and tensor_bundle.proto):
// "model.ckpt-5.index", a sorted table from tensor name to dtype, shape, shard, offset, size and
// checksum, and "model.ckpt-5.data-00000-of-00001", the values. A prefix is the path without these
// endings. Errors are of Code::kCheckpoint.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// Consumes the next bytes of a tensor's values.
using TakeBytesFn = std::function<void(std::string_view bytes)>;

// A tensor that is never complete in memory.
struct StreamedTensor {
  DType dtype = DType::kFloat;
  Shape shape;
  std::function<void(const TakeBytesFn& take)> write;  // passes the values to `take` in pieces
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
  std::shared_ptr<const StreamedTensor> streamed = nullptr;  // written instead of `tensor`
};

// Maximum bytes of a data shard that holds more than one tensor.
inline constexpr int64_t kShardBytes = int64_t{2} << 30;

// The size and checksum of a tensor's values in a data shard.
struct StoredValues {
  int64_t bytes = 0;
  uint32_t crc = 0;  // CRC-32C of the values, not masked
};

// A data shard to write, and its tensors in order.
struct ShardPlan {
  std::string path;
  std::vector<const NamedTensor*> tensors;
};

// Lets other processes write some of these shards. Returns the stored values of all tensors in each
// shard that another process has written completely and with the same bytes; the key is the index
// of the shard.
using WriteElsewhereFn =
    std::function<std::map<size_t, std::vector<StoredValues>>(std::span<const ShardPlan> shards)>;

struct BundleOptions {
  bool fsync = true;
  int64_t shard_bytes = kShardBytes;
  WriteElsewhereFn elsewhere = nullptr;  // empty: this process writes all shards
};

// Writes the data shards and then the index, each under a temporary name until it is complete and,
// if `fsync`, on disk. So if the index exists, the shards are complete. The number of shards
// depends on the sizes of the tensors. The bytes are those that TensorFlow writes for the same
// tensors; the order of `tensors` does not matter. Names are unique and not empty.
void WriteBundle(const std::string& prefix, std::vector<NamedTensor> tensors,
                 const BundleOptions& options = {});

// Paths of a bundle's files, and their endings after the prefix.
inline constexpr std::string_view kIndexEnding = ".index";
inline constexpr std::string_view kDataEnding = ".data-";  // then the shard, "00000-of-00001"
[[nodiscard]] std::string BundleIndexPath(std::string_view prefix);
[[nodiscard]] std::string BundleDataPath(std::string_view prefix, int shard, int num_shards);

class Increment;

// Reads the index at once and each tensor on demand. An increment (increment.h) reads as if it were
// complete, through its base, unless the caller asks for its own entries. Reading from several
// threads is safe.
class BundleReader {
 public:
  explicit BundleReader(std::string prefix, bool as_written = false);
  ~BundleReader();
  BundleReader(BundleReader&&) noexcept;
  BundleReader& operator=(BundleReader&&) noexcept;

  [[nodiscard]] const std::string& prefix() const;
  // nullptr if entries are read as the files store them.
  [[nodiscard]] const Increment* increment() const;
  // Every tensor's name, sorted; a tensor that is stored in slices appears once. A slot that is
  // stored in parts (slice_key.h) appears under the name of part 0; reading any part's name returns
  // the whole slot.
  [[nodiscard]] const std::vector<std::string>& Names() const;
  [[nodiscard]] bool Has(std::string_view name) const;
  // An error about a missing tensor suggests the most similar name. A dtype that tpuest lacks is
  // kInvalid.
  [[nodiscard]] DType DTypeOf(std::string_view name) const;
  [[nodiscard]] Shape ShapeOf(std::string_view name) const;
  // The number of slices of rows in which a tensor is stored; 1 if it is stored whole.
  [[nodiscard]] int RowSlicesOf(std::string_view name) const;
  // CRC-32C of the values, from the index. For a tensor that is stored in slices, the checksum of
  // the whole tensor, because checksums of slices depend on where the tensor was sliced.
  [[nodiscard]] uint32_t ChecksumOf(std::string_view name) const;
  // Returns the values, with slices joined, after verifying their checksum.
  [[nodiscard]] Tensor Read(std::string_view name) const;
  // Passes the values of a numeric tensor to `take` in pieces of whole elements; throws after the
  // last piece if the checksum differs. Joins slices first.
  void ReadPieces(std::string_view name, const TakeBytesFn& take) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tpuest
