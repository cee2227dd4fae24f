#pragma once
// What Estimator::Train would do, found out beforehand.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/checkpoint/train_goal.h"
#include "core/estimator/checkpoint/warm_start.h"
#include "core/estimator/estimator.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model_builder.h"

namespace tpuest {

struct PlannedRun {
  std::string checkpoint;   // prefix of the one that it goes on from; empty: it starts fresh
  int64_t start = 0;        // global step
  StreamPosition position;  // where the input is read on
  TrainGoal goal;
  int64_t batch_size = 1;  // of all replicas together
  int replicas = 1;
  bool broadcast = false;                   // every replica takes all of it
  std::shared_ptr<const BuiltModel> model;  // in TRAIN
  std::vector<WarmStartRow> warm_start;     // empty: there is none

  [[nodiscard]] int64_t share() const { return broadcast ? batch_size : batch_size / replicas; }
  // Steps to do: none where the goal is behind the start, nullopt for the whole input.
  [[nodiscard]] std::optional<int64_t> steps() const;
};

struct PlanArgs {
  const ModelFn& model_fn;
  const EstimatorOptions& options;
  const StreamSpec& stream;  // of the training input
  TrainLength length;
  const EstimatorHome& home;
};

// The context that the modes of an Estimator for this run would share.
[[nodiscard]] EstimatorContext ContextOf(const PlanArgs& args);

// Reads the newest checkpoint of model_dir, or else the one of a warm start; writes nothing, takes
// no lock and sees no data. The errors of Train that come before its first step.
[[nodiscard]] PlannedRun PlanTraining(const PlanArgs& args);

// What a global batch feeds the model with; empty where only the data tells how long its lists are.
[[nodiscard]] std::vector<Shape> InputShapes(const PlannedRun& run);

// Compiles the run's step for such inputs where args.home says, and returns the memory that it
// takes beside the variables, feeds and results. Makes variables of zeros where the backend wants
// values.
MemoryUse CompileStep(const PlanArgs& args, const PlannedRun& run,
                      const std::vector<Shape>& shapes);

}  // namespace tpuest
