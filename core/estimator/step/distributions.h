#pragma once
// Summaries of whole tensors: histograms of variables, gradients and layers' outputs. A separate
// program computes them at the steps whose summaries are written.

#include <vector>

#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/io/events/event.h"

namespace tpuest {

class Distributions {
 public:
  // The variables and the model outlive it.
  Distributions(const Backends& backends, VariableStore& variables, const BuiltModel& model,
                const CompileOptions& options, bool broadcast);

  [[nodiscard]] bool empty() const { return fetches_.empty(); }
  // Returns the histograms for a global batch with the current variables, before the step that uses
  // it.
  [[nodiscard]] std::vector<SummaryValue> Compute(const Batch& batch);

 private:
  const BuiltModel& model_;
  std::vector<Value> fetches_;  // activations and histograms in the order of their tags, then shown
  StepPrograms programs_;
};

}  // namespace tpuest
