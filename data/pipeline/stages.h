#pragma once
// The stages of an input_fn in an order of its own: which record comes next, as tf.data's datasets
// give them. See stages.cpp.

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
  int64_t records = 0;  // of the own source; > 0
  uint64_t seed = 0;    // of shuffles that name none
  // By stage; nullptr for those without a formula.
  std::vector<std::shared_ptr<const Truths>> truths;
  // Of the datasets that stages name: records beyond the own ones. Empty where there are none.
  std::vector<std::vector<Stretch>> datasets;
  std::vector<int64_t> file_starts;                     // for an interleave
  std::shared_ptr<const std::vector<int64_t>> lengths;  // of each record, for buckets
};

// Throws Error kUsage, below `key` (input_fns.NAME.stages), for a stage that is none or several,
// for numbers that cannot be, and for a batch that is not the last.
void CheckStageList(const std::vector<StageOptions>& stages, const std::string& key);

// A stage's shuffle, and the records of its window: nullopt for all of a pass.
[[nodiscard]] ShuffleOptions ShuffleOf(const std::variant<int64_t, ShuffleOptions>& shuffle);
[[nodiscard]] std::optional<int64_t> WindowOf(const ShuffleOptions& options);
// A stage of a dataset that another stage names.
[[nodiscard]] StageOptions AsStage(const OrderStageOptions& o);

// The records of an example: a window's, or 1.
[[nodiscard]] int64_t WindowSizeOf(const std::vector<StageOptions>& stages);

// The examples that the stages give; nullopt where they repeat for ever, without a take behind
// that.
[[nodiscard]] std::optional<int64_t> CountOf(const std::vector<StageOptions>& stages,
                                             const StageContext& context);

// A position counts the examples that were drawn: to go on, the stages are run again up to it, on
// numbers of records alone.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(const std::vector<StageOptions>& stages,
                                                   const StageContext& context);

}  // namespace tpuest::data
