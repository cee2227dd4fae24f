#pragma once
// What a training step is compiled from.

#include <vector>

#include "core/estimator/step/model_builder.h"
#include "core/estimator/step/step_program.h"
#include "core/estimator/step/weight_summaries.h"

namespace tpuest {

// The step of a model that is built for TRAIN, for inputs of these shapes. Fetches, in this order:
// the loss, the learning rate where there is one, the summaries that `weights` leaves, and the
// host_call's tensors.
[[nodiscard]] StepProgramArgs TrainProgramArgs(const BuiltModel& model,
                                               const WeightSummaries& weights,
                                               const std::vector<Shape>& shapes,
                                               const CompileOptions& options);

// The host_call's tensors among its fetches; none without one.
[[nodiscard]] std::vector<size_t> HostCallFetches(const BuiltModel& model,
                                                  const WeightSummaries& weights);

}  // namespace tpuest
