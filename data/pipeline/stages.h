#pragma once
// The key `stages` of an input_fn: determines the next record as a chain of tf.data datasets does.
// See stages.cpp.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/options.h"
#include "data/pipeline/sampler.h"
#include "data/pipeline/stage_sources.h"

namespace tpuest::data {

// For each record of the source, whether a stage's formula is true.
using Truths = std::vector<bool>;

struct StageContext {
  int64_t records = 0;  // records of the input_fn's own source; > 0
  uint64_t seed = 0;    // seed of shuffles without their own
  // By stage; nullptr for those without a formula.
  std::vector<std::shared_ptr<const Truths>> truths;
  // The records of the datasets that stages name, after the own records; empty if there are none.
  std::vector<std::vector<Stretch>> datasets;
  std::vector<int64_t> file_starts;                     // for an interleave
  std::shared_ptr<const std::vector<int64_t>> lengths;  // length per record, for buckets
};

// Throws kUsage, below `key` (input_fns.NAME.stages), for a stage without or with several ops, for
// invalid numbers, and for a batch that is not the last stage.
void CheckStageList(const std::vector<StageOptions>& stages, const std::string& key);

// A stage's shuffle options and the size of its window; nullopt for a whole pass.
[[nodiscard]] ShuffleOptions ShuffleOf(const std::variant<int64_t, ShuffleOptions>& shuffle);
[[nodiscard]] std::optional<int64_t> WindowOf(const ShuffleOptions& options);
// A stage of a dataset that another stage names.
[[nodiscard]] StageOptions AsStage(const OrderStageOptions& o);

// The records of an example: a window's, or 1.
[[nodiscard]] int64_t WindowSizeOf(const std::vector<StageOptions>& stages);

// The number of examples that the stages yield; nullopt if they repeat forever without a later
// take.
[[nodiscard]] std::optional<int64_t> CountOf(const std::vector<StageOptions>& stages,
                                             const StageContext& context);

// A position counts drawn examples. To resume, the stages are rerun up to it, on record numbers
// only.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(const std::vector<StageOptions>& stages,
                                                   const StageContext& context);

}  // namespace tpuest::data
