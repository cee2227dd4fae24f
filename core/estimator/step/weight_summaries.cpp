#include "core/estimator/step/weight_summaries.h"

#include <algorithm>

#include "core/graph/cut.h"

namespace tpuest {

WeightSummaries::WeightSummaries(Backend& backend, VariableStore& variables,
                                 const BuiltModel& model)
    : backend_(backend), variables_(variables), graph_(*model.graph) {
  for (const auto& [tag, value] : model.spec.summaries) {
    const std::vector<char> needed = NeededNodes(graph_, {value}, {}, {});
    const bool reads_batch = std::any_of(
        model.inputs.begin(), model.inputs.end(),
        [&](const Value& input) { return needed[static_cast<size_t>(input.node->id())] != 0; });
    among_.push_back(!reads_batch);
    if (!reads_batch) fetches_.push_back(value);
  }
}

std::vector<float> WeightSummaries::Compute() {
  if (fetches_.empty()) return {};
  if (program_ == nullptr) {
    program_ = backend_.Compile({.graph = &graph_, .fetches = fetches_}, {}, variables_);
  }
  const StepFeeds nothing;
  const std::vector<StepResult> results = program_->Run({&nothing, 1});
  std::vector<float> values;
  for (const auto& fetched : results.front().fetches) {
    values.push_back(static_cast<float>(fetched.front().AsDouble(0)));
  }
  return values;
}

}  // namespace tpuest
