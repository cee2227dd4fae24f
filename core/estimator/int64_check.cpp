#include "core/estimator/int64_check.h"

#include <algorithm>

#include "core/graph/cut.h"

namespace tpuest {
namespace {

// All that the spec asks of its graph.
GraphCut CutOf(const BuiltModel& model) {
  const TPUEstimatorSpec& spec = model.spec;
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
  return CutGraph(*model.graph, fetches, targets);
}

// A node of the device that reads the value, or nullptr.
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
      fmt::format("the {} \"{}\" is int64, which is no TPU type, and {} '{}' reads it on "
                  "the device",
                  what, column.name, reader.type(), reader.name()),
      fmt::format("add to the input_fn's map: - {{op: cast, in: {}, dtype: int32}}", column.name))
      .Key(column.key);
}

}  // namespace

void RefuseInt64OnDevice(const BuiltModel& model, const StreamSpec& stream) {
  std::vector<TensorSpec> columns = stream.features;
  if (model.has_labels) columns.push_back(*stream.labels);
  const bool any = std::any_of(columns.begin(), columns.end(), [](const TensorSpec& column) {
    return column.dtype == DType::kInt64;
  });
  if (!any) return;
  const GraphCut cut = CutOf(model);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].dtype != DType::kInt64) continue;
    const Node* const reader = ReaderOnDevice(*model.graph, cut, model.inputs[i]);
    if (reader == nullptr) continue;
    Refuse(columns[i], i < stream.features.size() ? "feature" : "label", *reader);
  }
}

}  // namespace tpuest
