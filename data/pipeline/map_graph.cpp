#include "data/pipeline/map_graph.h"

#include <memory>
#include <utility>

#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"
#include "data/sources/open_source.h"

namespace tpuest::data {

std::vector<TensorSpec> SourceColumns(const InputFnOptions& options, const std::string& key) {
  const std::string source_key = key + ".source";
  if (auto known = KnownColumns(options.source, source_key)) return *std::move(known);
  // Bad records were reported when the job's own input was opened, so they are not reported here.
  const AnySource source =
      OpenSource(options.source, false, source_key, {options.data_errors.options, nullptr});
  return std::get<std::shared_ptr<IndexedSource>>(source)->columns();
}

void MapGraph::Add(const MapOptions& op) {
  std::set<std::string> known;
  for (const auto& [name, column] : newest_) known.insert(name);
  std::map<std::string, size_t> inputs;
  for (const std::string& name : InputsOf(op, known)) inputs[name] = newest_.at(name);
  TensorSpec spec;
  if (const auto* const expr = std::get_if<ExprMap>(&op)) {
    const OpRegistry registry(ops::AllOps());
    Graph graph(registry);
    std::map<std::string, Value> columns;
    for (const auto& [name, column] : inputs) {
      columns[name] = ColumnPlaceholder(graph, specs_[column]);
    }
    spec = SpecOf(FormulaNodes(graph, expr->value, columns));
  } else {
    spec = ResolveMap(op, specs_[inputs.begin()->second], "").spec;
  }
  spec.name = ColumnsOf(op).out.value_or(ColumnsOf(op).in);
  newest_[spec.name] = specs_.size();
  specs_.push_back(std::move(spec));
  inputs_.push_back(std::move(inputs));
}

Value MapGraph::FormulaOf(size_t column, std::map<size_t, Value>& built) const {
  std::map<std::string, Value> columns;
  for (const auto& [name, input] : inputs_[column - read_]) columns[name] = Build(input, built);
  Check(!columns.empty(), "a formula over rows names a column");
  Graph& graph = columns.begin()->second.graph();
  return FormulaNodes(graph, std::get<ExprMap>(*map_[column - read_].op).value, columns);
}

}  // namespace tpuest::data
