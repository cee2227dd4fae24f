#pragma once
// keep_best: the checkpoints with the best values of a metric stay on disk, regardless of
// keep_checkpoint_max. The state file model_dir/best names them as "checkpoint" names the newest
// ones, with the best as model_checkpoint_path.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/estimator/options/options.h"

namespace tpuest {

class BestCheckpoints {
 public:
  // `label` is the evaluation's in metrics.jsonl, which has the metrics of the checkpoints kept so
  // far. `removes`: false if checkpoints are never removed.
  BestCheckpoints(std::string model_dir, const KeepBest& options, std::string label, bool fsync,
                  bool removes = true)
      : model_dir_(std::move(model_dir)),
        options_(options),
        label_(std::move(label)),
        fsync_(fsync),
        removes_(removes) {}

  // Keeps the checkpoint if its `value` of the metric is among the best n. Removes a checkpoint
  // that is no longer among them, unless the state file "checkpoint" still names it.
  void Offer(const std::string& prefix, int64_t step, float value);
  // Rebuilds a damaged file from the evaluations up to `step`, and logs that.
  void Mend(int64_t step, Log& log);
  // Drops the checkpoints of later steps from the best.
  void ForgetAfter(int64_t step);

 private:
  struct Kept {
    std::string prefix;
    int64_t step = 0;
    float value = 0;
  };
  // Keeps the best n in `all` and returns the others, worst first.
  [[nodiscard]] std::vector<Kept> TakeDropped(std::vector<Kept>& all);
  [[nodiscard]] static std::vector<std::string> PrefixesOf(const std::vector<Kept>& all);
  // Returns the metric of a kept checkpoint; NaN if it is not recorded.
  [[nodiscard]] float ValueOf(const std::string& prefix, int64_t step);

  std::string model_dir_;
  KeepBest options_;
  std::string label_;
  bool fsync_;
  bool removes_;
  // The kept checkpoints' values by prefix. The log grows with the run, so it is read only for
  // checkpoints that an earlier process kept.
  std::map<std::string, float> values_;
};

// Whether model_dir/best names the checkpoint. True for every checkpoint if the file is damaged.
[[nodiscard]] bool IsKeptAsBest(const std::string& model_dir, const std::string& prefix);

// Returns the prefix of the best checkpoint. Throws Error kCheckpoint if none was kept.
[[nodiscard]] std::string BestCheckpoint(const std::string& model_dir);

}  // namespace tpuest
