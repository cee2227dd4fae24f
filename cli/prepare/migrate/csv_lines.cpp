#include "cli/prepare/migrate/csv_lines.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "cli/prepare/migrate/nodes.h"
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
