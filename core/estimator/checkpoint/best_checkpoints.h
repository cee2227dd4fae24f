#pragma once
// keep_best: the checkpoints that an evaluation liked best stay, whatever keep_checkpoint_max says.
// They stand in model_dir/best, a state file like "checkpoint", the best one as
// model_checkpoint_path.

#include <cstdint>
#include <map>
#include <string>

#include "core/base/log.h"
#include "core/estimator/options/options.h"

namespace tpuest {

class BestCheckpoints {
 public:
  // `label`: of the evaluation, in metrics.jsonl, where the metrics of those kept so far stand.
  BestCheckpoints(std::string model_dir, const KeepBest& options, std::string label, bool fsync)
      : model_dir_(std::move(model_dir)),
        options_(options),
        label_(std::move(label)),
        fsync_(fsync) {}

  // Keeps the checkpoint if it is among the best; removes one that no longer is, unless the run
  // still has it for its age.
  void Offer(const std::string& prefix, int64_t step, float value);
  // No longer believes in those of later steps.
  void ForgetAfter(int64_t step);

 private:
  // The metric of a checkpoint that was kept; NaN where nothing says it.
  [[nodiscard]] float ValueOf(const std::string& prefix, int64_t step);

  std::string model_dir_;
  KeepBest options_;
  std::string label_;
  bool fsync_;
  // By prefix, of those kept: the log, which grows with the run, is read for what an earlier
  // process kept alone.
  std::map<std::string, float> values_;
};

// Whether model_dir/best names the checkpoint.
[[nodiscard]] bool IsKeptAsBest(const std::string& model_dir, const std::string& prefix);

// The best checkpoint's prefix. Error kCheckpoint if none was kept.
[[nodiscard]] std::string BestCheckpoint(const std::string& model_dir);

}  // namespace tpuest
