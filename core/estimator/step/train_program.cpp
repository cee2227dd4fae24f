#include "core/estimator/step/train_program.h"

#include <algorithm>

namespace tpuest {

StepProgramArgs TrainProgramArgs(const BuiltModel& model, const WeightSummaries& weights,
                                 const std::vector<Shape>& shapes, const CompileOptions& options) {
  const TPUEstimatorSpec& spec = model.spec;
  StepProgramArgs args{.graph = *model.graph,
                       .inputs = model.inputs,
                       .shapes = shapes,
                       .fetches = {spec.loss},
                       .targets = {spec.train_op},
                       .guard = spec.loss,
                       .options = options};
  if (spec.learning_rate.valid()) args.fetches.push_back(spec.learning_rate);
  size_t summary = 0;
  for (const auto& [tag, value] : spec.summaries) {
    if (!weights.among()[summary++]) args.fetches.push_back(value);
  }
  if (spec.host_call) {
    for (const auto& [name, value] : spec.host_call->tensors) args.fetches.push_back(value);
  }
  return args;
}

std::vector<size_t> HostCallFetches(const BuiltModel& model, const WeightSummaries& weights) {
  const TPUEstimatorSpec& spec = model.spec;
  std::vector<size_t> fetches;
  if (!spec.host_call) return fetches;
  const auto summaries = std::count(weights.among().begin(), weights.among().end(), false);
  size_t next = 1 + (spec.learning_rate.valid() ? 1 : 0) + static_cast<size_t>(summaries);
  for (size_t i = 0; i < spec.host_call->tensors.size(); ++i) fetches.push_back(next++);
  return fetches;
}

}  // namespace tpuest
