#include "data/examples/column_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"

namespace tpuest {
namespace {

// The columns that exist at one point of the pipeline. Each map step replaces or adds one; a column
// that shares its beginning with another is a chain of its own, run for itself.
using Table = std::map<std::string, ColumnPlan>;

size_t WidthOf(DType dtype) {
  return dtype == DType::kString ? sizeof(std::string_view) : SizeOf(dtype);
}

const ColumnPlan& Find(const Table& table, const std::string& name, const std::string& key) {
  const auto found = table.find(name);
  if (found != table.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, column] : table) names.push_back(known);
  const std::optional<std::string> nearest = Nearest(name, names);
  throw Error(Code::kUsage,
              fmt::format("no column is named '{}'; there are {}", name, Join(names, ", ")),
              nearest ? fmt::format("did you mean '{}'?", *nearest) : std::string())
      .Key(key);
}

// Lengthens the chain of column `in` and stores it as `out`.
void Apply(const MapOptions& op, const std::string& key, Table& table) {
  const MapColumns& names = ColumnsOf(op);
  ColumnPlan column = Find(table, names.in, key + ".in");
  MappedColumn mapped = ResolveMap(op, column.spec, key);
  column.spec = std::move(mapped.spec);
  // A step that only renames or reshapes runs nothing, hence no stage.
  if (mapped.decoder) column.decoder = mapped.decoder;
  if (mapped.step) {
    column.stages.push_back({std::move(mapped.step), WidthOf(column.spec.dtype)});
  }
  const std::string& out = names.out.value_or(names.in);
  column.spec.name = out;
  column.spec.key = key;
  table[out] = std::move(column);
}

std::vector<std::string> FeatureNames(const InputFnOptions& options, const Table& table,
                                      const std::string& key) {
  std::vector<std::string> names = options.features;
  if (names.empty()) {
    std::set<std::string> others;
    for (const auto& [head, column] : LabelsOf(options)) others.insert(column);
    if (options.id) others.insert(*options.id);
    for (const auto& [name, column] : table) {
      if (!others.contains(name)) names.push_back(name);
    }
  }
  // TensorFlow flattens a dict of features by name.
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw Error(Code::kUsage, fmt::format("'{}' is listed twice", *twice)).Key(key + ".features");
  }
  if (names.empty()) {
    throw Error(Code::kUsage, "no column is left for the features").Key(key + ".features");
  }
  return names;
}

}  // namespace

StreamSpec InputPlan::spec() const {
  StreamSpec spec{.batch_first = true};
  for (const ColumnPlan& column : features) {
    spec.features.push_back(column.spec);
    if (column.is_list()) spec.lists.push_back(column.spec.name);
  }
  spec.labels = labels.Map([](const ColumnPlan& column) { return column.spec; });
  return spec;
}

nn::Labels<std::string> LabelsOf(const InputFnOptions& options) {
  if (options.labels) {
    if (const auto* const column = std::get_if<std::string>(&*options.labels)) return *column;
    return nn::Labels<std::string>(std::get<LabelColumns>(*options.labels));
  }
  const auto* const csv = std::get_if<CsvSource>(&options.source);
  return csv == nullptr || !csv->label_name ? nn::Labels<std::string>() : *csv->label_name;
}

InputPlan PlanColumns(const InputFnOptions& options, const std::vector<TensorSpec>& columns,
                      const std::string& key) {
  Table table;
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnPlan column;
    column.spec = columns[i];
    // Errors about a column name the key that made it: the source, parse_example or a map step.
    if (column.spec.key.empty()) column.spec.key = key + ".source";
    column.input = i;
    column.input_name = columns[i].name;
    column.input_dtype = columns[i].dtype;
    table[columns[i].name] = std::move(column);
  }
  for (size_t i = 0; i < options.map.size(); ++i) {
    Apply(options.map[i], fmt::format("{}.map[{}]", key, i), table);
  }
  InputPlan plan;
  for (const std::string& name : FeatureNames(options, table, key)) {
    plan.features.push_back(Find(table, name, key + ".features"));
  }
  plan.labels = LabelsOf(options).Map([&](const std::string& head, const std::string& column) {
    return Find(table, column, key + ".labels" + (head.empty() ? "" : "." + head));
  });
  if (options.id) plan.id = Find(table, *options.id, key + ".id");
  return plan;
}

}  // namespace tpuest
