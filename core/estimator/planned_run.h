#pragma once
// A plan of Estimator::Train: where the run would start and end, its model and its memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/partition.h"
#include "core/estimator/checkpoint/saved/train_goal.h"
#include "core/estimator/checkpoint/warm_start/warm_start.h"
#include "core/estimator/estimator.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model/model_builder.h"

namespace tpuest {

// A run that was planned but not started.
struct PlannedRun {
  std::string checkpoint;   // prefix of the checkpoint that it resumes from; empty: it starts fresh
  int64_t start = 0;        // global step
  StreamPosition position;  // where the input continues
  TrainGoal goal;
  int64_t batch_size = 1;  // rows of all replicas together
  int replicas = 1;
  int cores = 1;                            // cores that share the work of a replica
  bool broadcast = false;                   // every replica takes the whole batch
  std::shared_ptr<const BuiltModel> model;  // in TRAIN
  std::vector<WarmStartRow> warm_start;     // empty: there is none
  // How the cores of a replica share each of the model's inputs; empty: each core has all of it.
  std::vector<Partition> partitions = {};

  // The number of rows per replica.
  [[nodiscard]] int64_t share() const { return broadcast ? batch_size : batch_size / replicas; }
  // Returns the number of steps to run: 0 if the goal is already reached, nullopt for the whole
  // input.
  [[nodiscard]] std::optional<int64_t> steps() const;
};

struct PlanArgs {
  const ModelFn& model_fn;
  const EstimatorOptions& options;
  const StreamSpec& stream;  // of the training input
  TrainLength length;
  const EstimatorHome& home;
};

// Returns the context that the modes of an Estimator would share in this run.
[[nodiscard]] EstimatorContext ContextOf(const PlanArgs& args);

// Reads the newest checkpoint of model_dir, or else that of a warm start; writes nothing, takes no
// lock and reads no data. Throws the errors of Train that occur before its first batch.
[[nodiscard]] PlannedRun PlanTraining(const PlanArgs& args);

// Returns the shapes in which a global batch is fed to the model; empty if only the data determines
// the length of its lists.
[[nodiscard]] std::vector<Shape> InputShapes(const PlannedRun& run);

// Compiles the run's step for such inputs on args.home's backends, and returns the memory (bytes)
// that it takes besides variables, feeds and results. Makes variables of zeros if the backend needs
// values. Throws Error kUsage, with the node's place, for a node that the device cannot run.
MemoryUse CompileStep(const PlanArgs& args, const PlannedRun& run,
                      const std::vector<Shape>& shapes);

}  // namespace tpuest
