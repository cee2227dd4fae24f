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

// Takes the next bytes of a tensor's values.
using TakeBytesFn = std::function<void(std::string_view bytes)>;

// A tensor that is nowhere whole.
struct StreamedTensor {
  DType dtype = DType::kFloat;
  Shape shape;
  std::function<void(const TakeBytesFn& take)> write;  // gives the values, in pieces
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
  std::shared_ptr<const StreamedTensor> streamed = nullptr;  // in the place of the tensor
};

// Most bytes of a data shard that holds more tensors than one.
inline constexpr int64_t kShardBytes = int64_t{2} << 30;

// What a tensor's values take in a data shard.
struct StoredValues {
  int64_t bytes = 0;
  uint32_t crc = 0;  // CRC-32C of the values, not masked
};

// A data shard that is to be written, and its tensors, in their order.
struct ShardPlan {
  std::string path;
  std::vector<const NamedTensor*> tensors;
};

// Has others write some of these shards. Of each that they have, whole and with the same bytes, by
// its place: what its tensors take.
using WriteElsewhereFn =
    std::function<std::map<size_t, std::vector<StoredValues>>(std::span<const ShardPlan> shards)>;

struct BundleOptions {
  bool fsync = true;
  int64_t shard_bytes = kShardBytes;
  WriteElsewhereFn elsewhere = nullptr;  // none: all are written here
};

// Writes data shards and then the index, each under a temporary name until it is whole and, if
// `fsync`, on the disk: a reader that finds an index may trust the shards. How many shards there
// are follows from the sizes of the tensors. The bytes are TensorFlow's for the same tensors; their
// order here does not matter. Names are not empty and differ.
void WriteBundle(const std::string& prefix, std::vector<NamedTensor> tensors,
                 const BundleOptions& options = {});

// Paths of a bundle's files, and how they go on after the prefix.
inline constexpr std::string_view kIndexEnding = ".index";
inline constexpr std::string_view kDataEnding = ".data-";  // then the shard, "00000-of-00001"
[[nodiscard]] std::string BundleIndexPath(std::string_view prefix);
[[nodiscard]] std::string BundleDataPath(std::string_view prefix, int shard, int num_shards);

class Increment;

// Reads the index at once and each tensor on demand. An increment (increment.h) reads as if it were
// whole, through its base, unless it is read as it was written. Reading from several threads is
// safe.
class BundleReader {
 public:
  explicit BundleReader(std::string prefix, bool as_written = false);
  ~BundleReader();
  BundleReader(BundleReader&&) noexcept;
  BundleReader& operator=(BundleReader&&) noexcept;

  [[nodiscard]] const std::string& prefix() const;
  // nullptr: what is read is what stands in the files.
  [[nodiscard]] const Increment* increment() const;
  // Every tensor's name, sorted; one that is stored in slices appears once. A slot in parts
  // (slice_key.h) appears under the name of part 0, and reads whole under that of any part.
  [[nodiscard]] const std::vector<std::string>& Names() const;
  [[nodiscard]] bool Has(std::string_view name) const;
  // Errors if there is no such tensor name the nearest one. A dtype that tpuest lacks is kInvalid.
  [[nodiscard]] DType DTypeOf(std::string_view name) const;
  [[nodiscard]] Shape ShapeOf(std::string_view name) const;
  // The number of slices that a tensor is stored in, where each has some of its rows; else 1.
  [[nodiscard]] int RowSlicesOf(std::string_view name) const;
  // CRC-32C of the values, as the index has it; of a tensor that is stored in slices, whose own
  // checksums follow how it was cut, that of the whole.
  [[nodiscard]] uint32_t ChecksumOf(std::string_view name) const;
  // The values, their checksum verified, slices joined.
  [[nodiscard]] Tensor Read(std::string_view name) const;
  // Gives the values of a tensor of numbers piece by piece, each a multiple of its elements; throws
  // behind the last one where the checksum is another. What is stored in slices is joined first.
  void ReadPieces(std::string_view name, const TakeBytesFn& take) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tpuest
