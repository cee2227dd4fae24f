#pragma once
// What train, evaluate and predict of one Estimator share.

#include <optional>
#include <string>

#include "core/estimator/checkpoint/saved_state.h"
#include "core/estimator/contract/calls.h"
#include "core/estimator/options/options.h"

namespace tpuest {

struct EstimatorContext {
  ModelFn model_fn;
  EstimatorOptions options;  // resolved
  EstimatorHome home;
  std::string model_dir;
  bool model_dir_is_temporary = false;
  int threads = 1;
  std::optional<uint64_t> seed;  // settled by the first mode that runs

  // What the newest checkpoint of model_dir holds, while a run that saved it evaluates it. Shares
  // the trainer's variables, so it is gone before the next step.
  std::optional<SavedState> in_memory;

  // The checkpoint that `path` names; from memory where it is there.
  [[nodiscard]] SavedState Checkpoint(const std::string& path) const;
  // The run's seed: tf_random_seed, else the checkpoint's, else one that is drawn and printed.
  uint64_t Seed(const std::optional<uint64_t>& saved);
  // Whether the mode runs on TPU: evaluation may not.
  [[nodiscard]] bool OnTpu(Mode mode) const;
  [[nodiscard]] int ReplicasIn(Mode mode) const;
  // Whether every replica gets the whole batch.
  [[nodiscard]] bool BroadcastsIn(Mode mode) const;
  // The size of a mode's global batch: what the input_fn gives. Error kUsage if there is none or it
  // does not divide by the replicas.
  [[nodiscard]] int64_t BatchSize(Mode mode) const;
  // A stream whose batches have their batch on axis 0.
  [[nodiscard]] std::unique_ptr<BatchStream> Open(const InputFn& input_fn,
                                                  const InputContext& context) const;
  // Of a global batch of so many rows.
  [[nodiscard]] int64_t RowsOfReplica(Mode mode, int64_t rows, int of_replicas) const;
  [[nodiscard]] Params ParamsFor(Mode mode, int64_t rows, int of_replicas) const;
};

// Step threads of this process: as the job says, or as many as the machine has cores.
[[nodiscard]] int ThreadsOf(const RunConfig& config);

// Throws Error kUsage if there is a fault.
void ThrowFaults(std::vector<Fault> faults);

// 0, 75 or 130; and "", "preempted" or "interrupted".
[[nodiscard]] int ExitCodeOf(const StopSignal& stop);
[[nodiscard]] std::string ReasonOf(const StopSignal& stop);
// "<what> was interrupted<when>": of what keeps nothing when it is stopped.
[[noreturn]] void ThrowStopped(const StopSignal& stop, std::string_view what,
                               std::string_view when = "");

}  // namespace tpuest
