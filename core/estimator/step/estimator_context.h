#pragma once
// The state that train, evaluate and predict of one Estimator share.

#include <memory>
#include <optional>
#include <string>

#include "core/backend/collective.h"
#include "core/backend/rows/row_owners.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
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
  std::optional<uint64_t> seed;                      // set by the first mode that runs
  bool seeds_by_name = false;                        // likewise (ResumePoint)
  bool starts_by_name = false;                       // seeds_by_name for a run without a checkpoint
  std::shared_ptr<Collective> collective = nullptr;  // of home.group, for training
  std::shared_ptr<RowOwners> row_owners = nullptr;   // of home.group

  // The contents of model_dir's newest checkpoint while the run that saved it evaluates it. They
  // share the trainer's variables, so they are released before the next step.
  std::optional<SavedState> in_memory;

  // Returns the checkpoint that `path` names, from memory if it is in_memory. Throws Error
  // kCheckpoint as LoadCheckpoint does.
  [[nodiscard]] SavedState Checkpoint(const std::string& path) const;
  // Returns the run's seed: tf_random_seed, or else the checkpoint's, or else a random one, which
  // is logged.
  uint64_t Seed(const ResumePoint& saved);
  // Whether the mode runs on TPU: evaluation may be configured not to.
  [[nodiscard]] bool OnTpu(Mode mode) const;
  // Returns the number of replicas of the mode.
  [[nodiscard]] int ReplicasIn(Mode mode) const;
  // Returns the number of cores that share a replica's work in the mode: more than one only on a
  // device.
  [[nodiscard]] int CoresIn(Mode mode) const;
  // Whether every replica gets the whole batch.
  [[nodiscard]] bool BroadcastsIn(Mode mode) const;
  // Returns the rows of a mode's global batch, which the replicas share. Throws Error kUsage if
  // there is no batch size or it does not divide evenly over the replicas.
  [[nodiscard]] int64_t BatchSize(Mode mode) const;
  // Returns the rows of it that the input_fn provides: fewer if uneven_batches: pad adds rows.
  [[nodiscard]] int64_t InputBatchSize(Mode mode) const;
  [[nodiscard]] bool FillsUp(Mode mode) const;
  // Calls the input_fn. The stream's batches have their batch on axis 0, whatever batch_axis says.
  [[nodiscard]] std::unique_ptr<BatchStream> Open(const InputFn& input_fn,
                                                  const InputContext& context) const;
  // Opens the mode's own batches, of InputBatchSize rows. Batches of training are padded here if
  // necessary, those of other modes by their caller.
  [[nodiscard]] std::unique_ptr<BatchStream> OpenBatches(const InputFn& input_fn, Mode mode,
                                                         uint64_t run_seed) const;
  // Returns how tables are kept by rows; nullopt: they are kept whole. In a group each process has
  // the rows that it owns.
  [[nodiscard]] std::optional<RowKeeping> RowsKept() const;
  // Returns the number of rows that each replica gets of a global batch of `rows`, and the
  // model_fn's params for it.
  [[nodiscard]] int64_t RowsOfReplica(Mode mode, int64_t rows, int of_replicas) const;
  [[nodiscard]] Params ParamsFor(Mode mode, int64_t rows, int of_replicas) const;
};

// The number of replicas of a mode, on a device or on this processor.
[[nodiscard]] int ReplicasIn(const EstimatorOptions& options, Mode mode);
// The number of input batches that form a mode's global batch: each replica of a strategy takes
// one, those of a TPU share one.
[[nodiscard]] int BatchesIn(const EstimatorOptions& options, Mode mode);

// The number of step threads of this process: the job's number, or that of the machine's cores.
[[nodiscard]] int ThreadsOf(const RunConfig& config);

// Throws Error kUsage if there is a fault.
void ThrowFaults(std::vector<Fault> faults);

// The exit code and the word for a stop: 0 and "", 75 and "preempted", 130 and "interrupted".
[[nodiscard]] int ExitCodeOf(const StopSignal& stop);
// The same for work that saved nothing: 143 or 130.
[[nodiscard]] int UnsavedExitCodeOf(const StopSignal& stop);
[[nodiscard]] std::string ReasonOf(const StopSignal& stop);
// Throws Error 143 or kInterrupted, "<what> was interrupted<when>", for work whose results are
// discarded when it is stopped.
[[noreturn]] void ThrowStopped(const StopSignal& stop, std::string_view what,
                               std::string_view when = "");

}  // namespace tpuest
