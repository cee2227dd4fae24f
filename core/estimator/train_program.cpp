#include "core/estimator/train_program.h"

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

}  // namespace tpuest
