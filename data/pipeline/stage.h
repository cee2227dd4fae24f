#pragma once
// The items that flow through an input_fn's stages, and the stages that combine several datasets.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.h"

namespace tpuest::data {

// A record, and the pass over the source in which it was read.
struct Handle {
  int64_t record = 0;
  int64_t pass = 0;
};

// The records of a window or a batch, in order.
using Group = std::vector<Handle>;

// A dataset's iterator. Begin starts the next pass over the preceding stage.
template <class Item>
class StageOf {
 public:
  virtual ~StageOf() = default;
  [[nodiscard]] virtual std::optional<Item> Next() = 0;
  virtual void Begin() = 0;
};
using Stage = StageOf<Handle>;
using GroupStage = StageOf<Group>;
using StageList = std::vector<std::unique_ptr<Stage>>;

// Records first to first + size - 1.
[[nodiscard]] std::unique_ptr<Stage> RecordsStage(int64_t first, int64_t size);
// The datasets one after the other.
[[nodiscard]] std::unique_ptr<Stage> ConcatenateStage(StageList datasets);

struct SampleWeights {
  std::vector<double> weights;  // one per dataset; their sum is above 0
  RandomKey key;
  bool stops_on_empty = false;  // ends with the first dataset that ends
  bool rerandomizes = false;    // new random numbers in each pass
};
// Takes each example from a dataset chosen at random by weight among the datasets that have not
// ended. Datasets of weight 0 are ignored, as in TensorFlow.
[[nodiscard]] std::unique_ptr<Stage> SampleStage(StageList datasets, const SampleWeights& weights);

// Dataset.interleave over ranges of records: `cycle` ranges are open at a time, and each in turn
// yields `block` records. starts[i] is the start of range i; the last entry is the end.
[[nodiscard]] std::unique_ptr<Stage> InterleaveStage(std::vector<int64_t> starts, int64_t cycle,
                                                     int64_t block);

struct WindowSize {
  int64_t size = 1;
  int64_t shift = 1;
  int64_t stride = 1;
  bool drops_remainder = false;
};
// Dataset.window: groups of up to `size` records.
[[nodiscard]] std::unique_ptr<GroupStage> WindowStage(std::unique_ptr<Stage> before,
                                                      const WindowSize& window);

struct Buckets {
  std::shared_ptr<const std::vector<int64_t>> lengths;  // length per record
  std::vector<int64_t> boundaries;                      // ascending
  std::vector<int64_t> batch_sizes;                     // one more than boundaries
  bool drops_remainder = false;
  // The bucket of an example of that length.
  [[nodiscard]] size_t Of(int64_t length) const;
};
// Dataset.bucket_by_sequence_length: the groups are batches.
[[nodiscard]] std::unique_ptr<GroupStage> BucketStage(std::unique_ptr<Stage> before,
                                                      const Buckets& buckets);

}  // namespace tpuest::data
