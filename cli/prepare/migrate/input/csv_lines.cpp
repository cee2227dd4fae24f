#include "cli/prepare/migrate/input/csv_lines.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "cli/prepare/migrate/graph/nodes.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// By their numbers in types.proto.
std::string CsvDtype(int64_t number) {
  static const std::map<int64_t, std::string> kNames = {
      {1, "float32"}, {2, "float64"}, {3, "int32"}, {7, "string"}, {9, "int64"}};
  const auto found = kNames.find(number);
  return found == kNames.end() ? "" : found->second;
}

// The default of a column: a constant of one element, or of none where there is no default.
std::string DefaultOf(const std::optional<Tensor>& value) {
  if (!value || value->elements() != 1) return "";
  if (value->dtype() == DType::kString) return config::QuotedText(value->strings()[0]);
  return value->dtype() == DType::kFloat ? NumberText(static_cast<float>(value->AsDouble(0)))
                                         : NumberText(value->AsDouble(0));
}

// The columns as the op tells them, without names; nullopt if it does not, or if it reads only
// some.
std::optional<CsvLines> LinesOf(const SeenGraph& function, const SeenNode& decode) {
  const auto types = decode.int_lists.find("OUT_TYPE");
  if (types == decode.int_lists.end() || decode.int_lists.contains("select_cols")) {
    return std::nullopt;
  }
  CsvLines lines;
  for (size_t i = 0; i < types->second.size(); ++i) {
    const std::string dtype = CsvDtype(types->second[i]);
    if (dtype.empty()) return std::nullopt;
    lines.columns.push_back({.name = "",
                             .dtype = dtype,
                             .default_value = DefaultOf(function.ConstantAt(decode, 1 + i))});
  }
  const auto text = [&](const std::string& key, std::string& to) {
    const auto found = decode.strings.find(key);
    if (found != decode.strings.end()) to = found->second;
  };
  text("field_delim", lines.field_delim);
  text("na_value", lines.na_value);
  const auto quotes = decode.ints.find("use_quote_delim");
  if (quotes != decode.ints.end()) lines.use_quote_delim = quotes->second != 0;
  return lines;
}

const SeenNode* CallerOf(const SeenGraph& graph, const SeenFunction& function) {
  for (const SeenNode& node : graph.nodes()) {
    const auto called = node.functions.find("f");
    if (called != node.functions.end() && called->second == function.name) return &node;
  }
  return nullptr;
}

std::optional<Tensor> OnlyValueAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  std::optional<Tensor> value = graph.ConstantAt(node, input);
  return value && value->elements() == 1 ? value : std::nullopt;
}

// The columns of make_csv_dataset's op in a function that opens one file: its inputs are file,
// compression_type, buffer_size, header, field_delim, use_quote_delim, na_value, select_cols, and
// the defaults, which the function captures.
std::optional<CsvLines> LinesOfDataset(const SeenGraph& graph, const SeenFunction& opens,
                                       const SeenNode& dataset) {
  constexpr size_t kHeader = 3;
  constexpr size_t kSelected = 7;
  constexpr size_t kDefaults = 8;
  const auto types = dataset.int_lists.find("output_types");
  const auto selected = opens.body.ConstantAt(dataset, kSelected);
  const auto header = OnlyValueAt(opens.body, dataset, kHeader);
  const SeenNode* const caller = CallerOf(graph, opens);
  if (types == dataset.int_lists.end() || !selected || !header || caller == nullptr) {
    return std::nullopt;
  }
  const bool selects = selected->elements() > 0;
  const size_t read = types->second.size();
  if (selects && static_cast<size_t>(selected->elements()) != read) return std::nullopt;
  constexpr size_t kMostColumns = 100'000;  // a damaged graph may have any number
  CsvLines lines;
  lines.selects = selects;
  for (size_t i = 0; i < read; ++i) {
    const std::string dtype = CsvDtype(types->second[i]);
    const size_t column =
        selects ? static_cast<size_t>(selected->AsDouble(static_cast<int64_t>(i))) : i;
    if (dtype.empty() || column >= kMostColumns || kDefaults + i >= dataset.inputs.size()) {
      return std::nullopt;
    }
    std::optional<Tensor> value = opens.body.ConstantAt(dataset, kDefaults + i);
    const auto argument =
        std::find(opens.arguments.begin(), opens.arguments.end(), dataset.inputs[kDefaults + i]);
    if (!value && argument != opens.arguments.end()) {
      value = graph.ConstantAt(*caller, static_cast<size_t>(argument - opens.arguments.begin()));
    }
    if (lines.columns.size() <= column) {
      lines.columns.resize(column + 1, {.name = "", .dtype = "string", .default_value = ""});
    }
    lines.columns[column] = {.name = "", .dtype = dtype, .default_value = DefaultOf(value)};
    lines.read.push_back(column);
  }
  lines.skip = header->AsDouble(0) != 0 ? 1 : 0;
  const auto text = [&](size_t input, std::string& to) {
    const auto value = OnlyValueAt(opens.body, dataset, input);
    if (value && value->dtype() == DType::kString) to = value->strings()[0];
  };
  text(4, lines.field_delim);
  text(6, lines.na_value);
  const auto quotes = OnlyValueAt(opens.body, dataset, 5);
  if (quotes) lines.use_quote_delim = quotes->AsDouble(0) != 0;
  return lines;
}

// The argument of a function that a result is, in another dtype or shape; nullopt if it is
// computed.
std::optional<size_t> ArgumentOf(const SeenFunction& function, std::string tensor) {
  constexpr int kMostSteps = 16;  // a damaged graph may go in circles
  for (int i = 0; i < kMostSteps; ++i) {
    const auto argument = std::find(function.arguments.begin(), function.arguments.end(), tensor);
    if (argument != function.arguments.end()) {
      return static_cast<size_t>(argument - function.arguments.begin());
    }
    const SeenNode* const node = function.body.Find(tensor);
    if (node == nullptr || node->inputs.empty()) return std::nullopt;
    if (node->op != "Identity" && node->op != "Cast" && node->op != "ExpandDims") {
      return std::nullopt;
    }
    tensor = node->inputs[0];
  }
  return std::nullopt;
}

// The column that a result of the function is; nullopt where it is made of others.
std::optional<size_t> ColumnOf(const SeenFunction& function, const std::string& result,
                               const SeenNode& decode) {
  const std::optional<std::string> tensor = ResultOf(function.body, result, decode);
  if (!tensor) return std::nullopt;  // "DecodeCSV:output:3"
  const size_t last = tensor->rfind(':');
  return last == std::string::npos ? 0 : OutputOf(tensor->substr(last));
}

// The feature of a column's scope: town of "town_embedding_1"; "" where it is of none.
std::string FeatureOfScope(const std::string& scope, const std::set<std::string>& features) {
  std::string longest;
  for (const std::string& name : features) {
    const bool fits = scope == name || scope.starts_with(name + "_");
    if (fits && name.size() > longest.size()) longest = name;
  }
  return longest;
}

// Returns the feature of each output of the iterator that a node's scope identifies:
// "linear/linear_model/fare/ExpandDims" reads fare.
std::map<size_t, std::string> ReadFeatures(const SeenGraph& graph,
                                           const std::set<std::string>& features) {
  std::map<size_t, std::set<std::string>> readers;
  for (const SeenNode& node : graph.nodes()) {
    for (const std::string& input : node.inputs) {
      const SeenNode* const source = graph.Find(input);
      if (source == nullptr || !source->op.starts_with("IteratorGetNext")) continue;
      for (const std::string& part : Split(node.name, '/')) {
        const std::string feature = FeatureOfScope(part, features);
        if (!feature.empty()) readers[OutputOf(input)].insert(feature);
      }
    }
  }
  std::map<size_t, std::string> found;
  for (const auto& [output, names] : readers) {
    if (names.size() == 1) found[output] = *names.begin();
  }
  return found;
}

// Names the columns; false where it is not clear which one is which.
bool NameColumns(const SeenGraph& graph, const SeenFunction& function, const SeenNode& decode,
                 const std::set<std::string>& features, CsvLines& lines) {
  const auto order = FeatureOutputs(graph, function.results.size(), features);
  if (!order) return false;
  for (const auto& [result, name] : *order) {
    const auto column = ColumnOf(function, function.results[result], decode);
    if (!column || *column >= lines.columns.size()) return false;
    if (!lines.columns[*column].name.empty()) return false;
    lines.columns[*column].name = name;
  }
  return true;
}

// The label is the function's last result: a column, or made of the one that is left.
void FindCsvLabel(const SeenFunction& function, const SeenNode& decode, CsvLines& lines) {
  const std::string& last = function.results.back();
  lines.label = ColumnOf(function, last, decode);
  if (lines.label && *lines.label < lines.columns.size()) return;
  lines.label.reset();
  const auto unnamed = [](const CsvLineColumn& column) { return column.name.empty(); };
  if (std::count_if(lines.columns.begin(), lines.columns.end(), unnamed) != 1) return;
  const auto left = std::find_if(lines.columns.begin(), lines.columns.end(), unnamed);
  lines.label = static_cast<size_t>(left - lines.columns.begin());
  const SeenNode* node = function.body.Find(last);
  constexpr int kMostSteps = 16;  // a damaged graph may go in circles
  for (int i = 0; i < kMostSteps && node != nullptr && !node->inputs.empty(); ++i) {
    if (node->op != "Identity" && node->op != "Cast") break;
    node = function.body.Find(node->inputs[0]);
  }
  lines.label_op = Described(node);
}

// Names the columns that make_csv_dataset's map gives as a dict and a label.
bool NameDatasetColumns(const SeenGraph& graph, const SeenFunction& map,
                        const std::set<std::string>& features, CsvLines& lines) {
  const auto order = FeatureOutputs(graph, map.results.size(), features);
  if (!order) return false;
  const auto column_of = [&](size_t result) -> CsvLineColumn* {
    const std::optional<size_t> argument = ArgumentOf(map, map.results[result]);
    if (!argument || *argument >= lines.read.size()) return nullptr;
    return &lines.columns[lines.read[*argument]];
  };
  for (const auto& [result, name] : *order) {
    CsvLineColumn* const column = result < map.results.size() ? column_of(result) : nullptr;
    if (column == nullptr || !column->name.empty()) return false;
    column->name = name;
  }
  const CsvLineColumn* const label = column_of(map.results.size() - 1);
  if (label != nullptr) lines.label = static_cast<size_t>(label - lines.columns.data());
  return true;
}

// The lines of make_csv_dataset: an op that opens the files, and one map that names the columns.
std::optional<CsvLines> FindCsvDataset(const SeenGraph& graph,
                                       const std::set<std::string>& features) {
  const SeenFunction* map = nullptr;
  for (const SeenNode& node : graph.nodes()) {
    const auto called = node.functions.find("f");
    const bool maps = node.op.starts_with("MapDataset") || node.op.starts_with("ParallelMap");
    if (maps && called != node.functions.end()) map = graph.FindFunction(called->second);
  }
  if (map == nullptr || map->results.empty()) return std::nullopt;
  for (const SeenFunction& function : graph.functions()) {
    for (const SeenNode& node : function.body.nodes()) {
      if (!node.op.starts_with("CSVDataset")) continue;
      std::optional<CsvLines> lines = LinesOfDataset(graph, function, node);
      if (!lines || !NameDatasetColumns(graph, *map, features, *lines)) return std::nullopt;
      return lines;
    }
  }
  return std::nullopt;
}

int64_t SkippedIn(const SeenGraph& graph) {
  for (const SeenNode* const node : graph.Below("", "SkipDataset")) {
    const auto count = graph.ConstantAt(*node, 1);
    if (count && count->elements() == 1) return static_cast<int64_t>(count->AsDouble(0));
  }
  return 0;
}

}  // namespace

std::optional<std::map<size_t, std::string>> FeatureOutputs(const SeenGraph& graph, size_t results,
                                                            const std::set<std::string>& features) {
  if (features.size() + 1 == results) {
    std::map<size_t, std::string> all;
    for (const std::string& name : features) all[all.size()] = name;
    return all;
  }
  std::map<size_t, std::string> read = ReadFeatures(graph, features);
  const bool sorted =
      std::adjacent_find(read.begin(), read.end(), [](const auto& a, const auto& b) {
        return a.second >= b.second;
      }) == read.end();
  const bool fits = read.size() == features.size() && sorted && !read.empty() &&
                    read.rbegin()->first + 1 < results;
  return fits ? std::optional(std::move(read)) : std::nullopt;
}

std::optional<CsvLines> FindCsvLines(const SeenGraph& graph,
                                     const std::set<std::string>& features) {
  // After another map the features may have another order.
  const auto maps =
      std::count_if(graph.nodes().begin(), graph.nodes().end(), [](const SeenNode& node) {
        return node.op.starts_with("MapDataset") || node.op.starts_with("ParallelMapDataset") ||
               node.op.starts_with("MapAndBatchDataset");
      });
  if (maps != 1) return std::nullopt;
  if (std::optional<CsvLines> lines = FindCsvDataset(graph, features)) return lines;
  for (const SeenFunction& function : graph.functions()) {
    const std::vector<const SeenNode*> decodes = function.body.Below("", "DecodeCSV");
    if (decodes.size() != 1 || function.results.empty()) continue;
    std::optional<CsvLines> lines = LinesOf(function.body, *decodes[0]);
    if (!lines || !NameColumns(graph, function, *decodes[0], features, *lines)) return std::nullopt;
    FindCsvLabel(function, *decodes[0], *lines);
    lines->skip = SkippedIn(graph);
    for (const SeenFunction& other : graph.functions()) {
      if (lines->skip == 0) lines->skip = SkippedIn(other.body);
    }
    return lines;
  }
  return std::nullopt;
}

}  // namespace tpuest::cli
