#pragma once
// What flows through an input_fn's stages, and those of them that join several datasets.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.h"

namespace tpuest {

// A record, and the pass over the source in which it was met.
struct Handle {
  int64_t record = 0;
  int64_t pass = 0;
};

// A dataset's iterator. Begin starts the next pass over what is before it.
class Stage {
 public:
  virtual ~Stage() = default;
  [[nodiscard]] virtual std::optional<Handle> Next() = 0;
  virtual void Begin() = 0;
};
using StageList = std::vector<std::unique_ptr<Stage>>;

// Records first to first + size - 1.
[[nodiscard]] std::unique_ptr<Stage> RecordsStage(int64_t first, int64_t size);
// One after the other.
[[nodiscard]] std::unique_ptr<Stage> ConcatenateStage(StageList datasets);

struct SampleWeights {
  std::vector<double> weights;  // one a dataset; their sum is above 0
  RandomKey key;
  bool stops_on_empty = false;  // ends with the first dataset that ends
  bool rerandomizes = false;    // other draws in each pass
};
// Each example from a dataset that is drawn by weight, of those that have not ended. A dataset of
// weight 0 is left out, as in TensorFlow.
[[nodiscard]] std::unique_ptr<Stage> SampleStage(StageList datasets, const SampleWeights& weights);

// Dataset.interleave over ranges of records: `cycle` are open at a time, of which each gives
// `block` records in its turn. starts[i] is where range i begins, and the last is the end.
[[nodiscard]] std::unique_ptr<Stage> InterleaveStage(std::vector<int64_t> starts, int64_t cycle,
                                                     int64_t block);

}  // namespace tpuest
