#pragma once
// Trains a stretch of a run's steps again: by the run's own job, from one of its checkpoints or
// from its start, in a temporary folder that this object removes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/run/session.h"
#include "core/estimator/contract/contract.h"

namespace tpuest::cli {

// The run that a command line names: its model_dir, or one of its checkpoints.
struct NamedRun {
  std::string model_dir;
  std::optional<std::string> checkpoint;  // prefix, if one is named
};
// Returns the run that the invocation's argument or its --model-dir names. Error kUsage for none,
// more than one, or a folder that is not a run; kCheckpoint if the checkpoint does not exist.
[[nodiscard]] NamedRun RunOf(const Invocation& invocation);

// The prefix of the run's newest checkpoint before a global step; nullopt: its start.
[[nodiscard]] std::optional<std::string> CheckpointBefore(const std::string& model_dir,
                                                          int64_t step);

class Rerun {
 public:
  // `from`: the checkpoint that it resumes from; nullopt means the run's start. Overrides and flags
  // of the invocation apply as for train. Error kUsage for a job that does not train.
  Rerun(const Invocation& invocation, const NamedRun& run, const std::optional<std::string>& from,
        config::Sources& sources);
  ~Rerun();
  Rerun(const Rerun&) = delete;
  Rerun& operator=(const Rerun&) = delete;

  [[nodiscard]] Session& session() { return *session_; }
  // Returns the global step from which training resumes.
  [[nodiscard]] int64_t start() const { return start_; }
  // The temporary model_dir; it is a run's folder once it has trained.
  [[nodiscard]] const std::string& folder() const { return folder_; }

  // Takes the job's stream and gives the one to train on.
  using Wrap = std::function<std::unique_ptr<BatchStream>(std::unique_ptr<BatchStream>)>;
  // Trains up to a global step and saves a checkpoint there; returns the global step that was
  // reached, which is smaller if the input ended. `watch` is called around the loops. Error
  // kInterrupted (exit code 130) or kPreempted (75) after a signal.
  int64_t TrainTo(int64_t step, SessionRunHook* watch = nullptr, const Wrap& wrap = nullptr);

 private:
  std::string folder_;
  int64_t start_ = 0;
  Invocation invocation_;
  std::unique_ptr<Session> session_;
};

}  // namespace tpuest::cli
