#include "cli/prepare/plan_layers.h"

#include "core/backend/rows/row_table.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/graph/cut.h"
#include "core/graph/flops.h"

namespace tpuest::cli {
namespace {

int64_t BytesOf(const Variable& variable) {
  return variable.shape.elements() * static_cast<int64_t>(SizeOf(variable.dtype));
}

// The floating-point operations of each node, by id: 0 if a step does not run it on the device.
std::vector<int64_t> FlopsByNode(const BuiltModel& model) {
  const Graph& graph = *model.graph;
  const std::vector<Value> fetches = {model.spec.loss};
  const std::vector<Node*> targets = {model.spec.train_op};
  const std::vector<char> needed = NeededNodes(graph, fetches, targets, {});
  const GraphCut cut = CutGraph(graph, fetches, targets);
  std::vector<int64_t> flops;
  for (const auto& node : graph.nodes()) {
    const bool runs =
        needed[static_cast<size_t>(node->id())] != 0 && cut.PartOf(*node) == Part::kDevice;
    flops.push_back(runs ? FlopsOf(*node) : 0);
  }
  return flops;
}

LayerRow RowOf(const GraphLayer& layer, const Graph& graph, const std::vector<int64_t>& flops) {
  LayerRow row{.name = layer.name,
               .type = layer.type,
               .output = layer.output.shape(),
               .place = layer.origin};
  for (const auto& variable : graph.variables()) {
    const int id = variable->handle.node->id();
    const bool is_own = id >= layer.first_node && id < layer.end_node;
    if (is_own && variable->trainable) row.parameters += variable->shape.elements();
  }
  for (int id = layer.first_node; id < layer.end_node; ++id) {
    row.flops += flops[static_cast<size_t>(id)];
  }
  return row;
}

// Returns the number of table rows that a replica looks up, counting each id separately.
std::optional<int64_t> RowsAStep(const Variable& table, const Graph& graph) {
  int64_t rows = 0;
  for (const auto& node : graph.nodes()) {
    const bool looks_up = node->type() == "ResourceGather" && node->input(0) == table.handle &&
                          !node->name().starts_with("tables/");
    if (!looks_up) continue;
    const Shape& ids = node->input(1).shape();
    if (!ids.fully_known()) return std::nullopt;
    rows += ids.elements();
  }
  return rows;
}

TableRow TableRowOf(const TableVariables& table, const Graph& graph, const RowKeeping& keeping) {
  const Variable& weights = *table.front();
  TableRow row{.name = weights.name,
               .rows = weights.shape.dim(0),
               .width = weights.shape.dim(1),
               .slots = static_cast<int64_t>(table.size()) - 1};
  row.row_bytes =
      row.width * static_cast<int64_t>(table.size()) * static_cast<int64_t>(sizeof(float));
  row.bytes = row.rows * row.row_bytes;
  row.layout = RowTable::LayoutOf(row.rows, row.row_bytes, keeping.layout);
  row.is_shared = row.bytes > keeping.least_shared;
  row.rows_a_step = RowsAStep(weights, graph);
  return row;
}

}  // namespace

ModelCost CostOf(const BuiltModel& model, const RowKeeping& keeping) {
  ModelCost cost = CostOf(model);
  for (const TableVariables& table : TablesOf(*model.graph)) {
    cost.tables.push_back(TableRowOf(table, *model.graph, keeping));
  }
  return cost;
}

ModelCost CostOf(const BuiltModel& model) {
  const Graph& graph = *model.graph;
  const std::vector<int64_t> flops = FlopsByNode(model);
  ModelCost cost;
  for (const GraphLayer& layer : graph.layers()) cost.layers.push_back(RowOf(layer, graph, flops));
  for (const auto& variable : graph.variables()) {
    if (variable->local) continue;
    cost.bytes += BytesOf(*variable);
    if (!variable->trainable) continue;
    cost.parameters += variable->shape.elements();
    cost.parameter_bytes += BytesOf(*variable);
  }
  for (const int64_t of_node : flops) cost.flops += of_node;
  return cost;
}

}  // namespace tpuest::cli
