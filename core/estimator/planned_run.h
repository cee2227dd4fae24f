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

// A run that was planned and not started.
struct PlannedRun {
  std::string checkpoint;   // prefix of the one that it goes on from; empty: it starts fresh
  int64_t start = 0;        // global step
  StreamPosition position;  // where the input is read on
  TrainGoal goal;
  int64_t batch_size = 1;  // rows of all replicas together
  int replicas = 1;
  int cores = 1;                            // that share the work of a replica
  bool broadcast = false;                   // every replica takes the whole batch
  std::shared_ptr<const BuiltModel> model;  // in TRAIN
  std::vector<WarmStartRow> warm_start;     // empty: there is none
  // How the cores of a replica share each of the model's inputs; empty: each core has all of it.
  std::vector<Partition> partitions = {};

  // The rows of one replica.
  [[nodiscard]] int64_t share() const { return broadcast ? batch_size : batch_size / replicas; }
  // The number of steps to do: 0 where the goal is behind the start, nullopt for the whole input.
  [[nodiscard]] std::optional<int64_t> steps() const;
};

struct PlanArgs {
  const ModelFn& model_fn;
  const EstimatorOptions& options;
  const StreamSpec& stream;  // the training input's
  TrainLength length;
  const EstimatorHome& home;
};

// The context that the modes of an Estimator for this run would share.
[[nodiscard]] EstimatorContext ContextOf(const PlanArgs& args);

// Reads the newest checkpoint of model_dir, or else the one of a warm start; writes nothing, takes
// no lock and sees no data. Throws the errors of Train that come before its first batch.
[[nodiscard]] PlannedRun PlanTraining(const PlanArgs& args);

// The shapes that a global batch feeds the model with; empty where only the data tells how long its
// lists are.
[[nodiscard]] std::vector<Shape> InputShapes(const PlannedRun& run);

// Compiles the run's step for such inputs on args.home's backends, and returns the memory (bytes)
// that it takes beside the variables, feeds and results. Makes variables of zeros where the backend
// wants values. Error kUsage, with the node's place, for what the device cannot do.
MemoryUse CompileStep(const PlanArgs& args, const PlannedRun& run,
                      const std::vector<Shape>& shapes);

}  // namespace tpuest
