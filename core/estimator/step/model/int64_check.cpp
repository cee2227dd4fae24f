#include "core/estimator/step/model/int64_check.h"

#include <algorithm>

#include "core/graph/cut.h"

namespace tpuest {
namespace {

// Cuts the graph for all values that the spec needs.
GraphCut CutOf(const Graph& graph, const TPUEstimatorSpec& spec) {
  std::vector<Value> fetches;
  for (const auto& [name, value] : spec.predictions) fetches.push_back(value);
  for (const auto& [key, output] : spec.export_outputs) {
    for (const auto& [name, value] : output.outputs) fetches.push_back(value);
  }
  if (spec.loss.valid()) fetches.push_back(spec.loss);
  if (spec.eval_metrics) {
    for (const auto& [name, value] : spec.eval_metrics->tensors) fetches.push_back(value);
  }
  std::vector<Node*> targets;
  if (spec.train_op != nullptr) targets.push_back(spec.train_op);
  return CutGraph(graph, fetches, targets);
}

// A node on the device that reads the value, or nullptr.
const Node* ReaderOnDevice(const Graph& graph, const GraphCut& cut, const Value& value) {
  const auto& nodes = graph.nodes();
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) {
    return cut.PartOf(*node) == Part::kDevice &&
           std::find(node->inputs().begin(), node->inputs().end(), value) != node->inputs().end();
  });
  return found == nodes.end() ? nullptr : found->get();
}

[[noreturn]] void Refuse(const TensorSpec& column, std::string_view what, const Node& reader) {
  throw Error(
      Code::kUsage,
      fmt::format(
          "the {} \"{}\" is int64, which TPUs do not support, and {} '{}' reads it on the device",
          what, column.name, reader.type(), reader.name()),
      fmt::format("add to the input_fn's map: - {{op: cast, in: {}, dtype: int32}}", column.name))
      .Key(column.key);
}

}  // namespace

void RefuseInt64OnDevice(const Graph& graph, const TPUEstimatorSpec& spec,
                         const std::vector<DeviceInput>& inputs) {
  const bool any = std::any_of(inputs.begin(), inputs.end(), [](const DeviceInput& input) {
    return input.value.dtype() == DType::kInt64;
  });
  if (!any) return;
  const GraphCut cut = CutOf(graph, spec);
  for (const DeviceInput& input : inputs) {
    if (input.value.dtype() != DType::kInt64) continue;
    const Node* const reader = ReaderOnDevice(graph, cut, input.value);
    if (reader != nullptr) Refuse(input.column, input.is_label ? "label" : "feature", *reader);
  }
}

}  // namespace tpuest
