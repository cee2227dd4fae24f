#include "cli/prepare/migrate/input/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "cli/prepare/migrate/graph/nodes.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// DT_FLOAT, DT_STRING and DT_INT64 of types.proto: all that an Example holds.
std::string ParsedDtype(int64_t number) {
  if (number == 1) return "float32";
  if (number == 7) return "string";
  return number == 9 ? "int64" : "";
}

template <class T>
std::vector<T> ListOf(const std::map<std::string, std::vector<T>>& lists, const std::string& key) {
  const auto found = lists.find(key);
  return found == lists.end() ? std::vector<T>() : found->second;
}

int64_t NumberOf(const SeenNode& node, const std::string& key) {
  const auto found = node.ints.find(key);
  return found == node.ints.end() ? 0 : found->second;
}

// The strings of a constant at an input: one, or as many as it has.
std::vector<std::string> WordsAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  const auto value = graph.ConstantAt(node, input);
  if (!value || value->dtype() != DType::kString) return {};
  return {value->strings().begin(), value->strings().end()};
}

// Returns a default as a job has it: a number or a word for a single value, otherwise a list; empty
// if there is none.
std::string DefaultAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  const SeenNode* const at = SourceAt(graph, node, input);
  if (at == nullptr) return "";
  // parse_example gives a default the feature's shape.
  const auto value = at->op == "Reshape" ? graph.ConstantAt(*at, 0) : graph.ConstantAt(node, input);
  if (!value || value->elements() == 0) return "";
  std::vector<std::string> words;
  for (int64_t i = 0; i < value->elements(); ++i) {
    if (value->dtype() == DType::kString) {
      words.push_back(config::QuotedText(value->strings()[static_cast<size_t>(i)]));
    } else {
      words.push_back(NumberText(static_cast<float>(value->AsDouble(i))));
    }
  }
  return words.size() == 1 ? words[0] : "[" + Join(words, ", ") + "]";
}

std::optional<RecordParser> ParserOf(const SeenGraph& graph, const SeenNode& node) {
  const std::optional<ParserKeys> keys = ParserKeysOf(graph, node);
  if (!keys) return std::nullopt;
  const std::vector<int64_t> sparse_types = ListOf(node.int_lists, "sparse_types");
  const std::vector<int64_t> dense_types = ListOf(node.int_lists, "Tdense");
  const std::vector<Shape> shapes = ListOf(node.shapes, "dense_shapes");
  const bool fits = sparse_types.size() == keys->sparse.size() &&
                    dense_types.size() == keys->dense.size() && shapes.size() == dense_types.size();
  if (!fits) return std::nullopt;
  RecordParser parser;
  for (size_t i = 0; i < keys->sparse.size(); ++i) {
    parser.features.push_back({.name = keys->sparse[i],
                               .dtype = ParsedDtype(sparse_types[i]),
                               .is_sparse = true,
                               .shape = {},
                               .default_value = ""});
  }
  for (size_t i = 0; i < keys->dense.size(); ++i) {
    ParsedFeature feature{.name = keys->dense[i],
                          .dtype = ParsedDtype(dense_types[i]),
                          .is_sparse = false,
                          .shape = {shapes[i].dims().begin(), shapes[i].dims().end()},
                          .default_value = DefaultAt(graph, node, keys->defaults + i)};
    parser.features.push_back(std::move(feature));
  }
  const bool known =
      std::all_of(parser.features.begin(), parser.features.end(),
                  [](const ParsedFeature& feature) { return !feature.dtype.empty(); });
  return known ? std::optional(std::move(parser)) : std::nullopt;
}

}  // namespace

std::optional<ParserKeys> ParserKeysOf(const SeenGraph& graph, const SeenNode& node) {
  ParserKeys keys;
  if (node.op == "ParseSingleExample" || node.op.starts_with("ParseExampleDataset")) {
    keys.sparse = ListOf(node.string_lists, "sparse_keys");
    keys.dense = ListOf(node.string_lists, "dense_keys");
    keys.defaults = node.op == "ParseSingleExample" ? 1 : 2;
  } else if (node.op == "ParseExampleV2") {
    keys.sparse = WordsAt(graph, node, 2);
    keys.dense = WordsAt(graph, node, 3);
    keys.defaults = 5;
  } else if (node.op == "ParseExample") {  // an input for each name
    const auto sparse = static_cast<size_t>(NumberOf(node, "Nsparse"));
    const auto dense = static_cast<size_t>(NumberOf(node, "Ndense"));
    for (size_t i = 0; i < sparse + dense && i < node.inputs.size(); ++i) {
      const std::vector<std::string> word = WordsAt(graph, node, 2 + i);
      if (word.size() != 1) return std::nullopt;
      (i < sparse ? keys.sparse : keys.dense).push_back(word[0]);
    }
    keys.defaults = 2 + sparse + dense;
  } else {
    return std::nullopt;
  }
  if (keys.sparse.empty() && keys.dense.empty()) return std::nullopt;
  return keys;
}

const ParsedFeature* RecordParser::Find(const std::string& name) const {
  const auto found =
      std::find_if(features.begin(), features.end(),
                   [&](const ParsedFeature& feature) { return feature.name == name; });
  return found == features.end() ? nullptr : &*found;
}

std::optional<RecordParser> FindParser(const SeenGraph& graph) {
  for (const SeenFunction& function : graph.functions()) {
    for (const SeenNode& node : function.body.nodes()) {
      if (std::optional<RecordParser> parser = ParserOf(function.body, node)) return parser;
    }
  }
  for (const SeenNode& node : graph.nodes()) {
    if (std::optional<RecordParser> parser = ParserOf(graph, node)) return parser;
  }
  return std::nullopt;
}

std::string FeatureText(const ParsedFeature& feature) {
  if (feature.is_sparse) return fmt::format("{{type: VarLenFeature, dtype: {}}}", feature.dtype);
  const bool is_sequence = !feature.shape.empty() && feature.shape[0] < 0;
  std::vector<std::string> dims;
  for (size_t i = is_sequence ? 1 : 0; i < feature.shape.size(); ++i) {
    dims.push_back(fmt::format("{}", feature.shape[i]));
  }
  std::string text = fmt::format("{{type: {}, shape: [{}], dtype: {}",
                                 is_sequence ? "FixedLenSequenceFeature" : "FixedLenFeature",
                                 Join(dims, ", "), feature.dtype);
  if (is_sequence) text += ", allow_missing: true";
  if (!feature.default_value.empty()) text += ", default_value: " + feature.default_value;
  return text + "}";
}

std::vector<std::string> FindFiles(const SeenGraph& graph, std::string_view reader) {
  // TFRecordDataset(filenames) reads a TensorSliceDataset's, in a function.
  const auto reads_records = [&](const SeenGraph& nodes) {
    return std::any_of(nodes.nodes().begin(), nodes.nodes().end(),
                       [&](const SeenNode& node) { return node.op.starts_with(reader); });
  };
  const bool in_function =
      std::any_of(graph.functions().begin(), graph.functions().end(),
                  [&](const SeenFunction& function) { return reads_records(function.body); });
  for (const SeenNode& node : graph.nodes()) {
    const bool names_files =
        node.op.starts_with(reader) ||
        (in_function && node.op == "TensorSliceDataset" && node.inputs.size() == 1);
    if (!names_files) continue;
    std::vector<std::string> files = WordsAt(graph, node, 0);
    if (!files.empty()) return files;
    const SeenNode* const flat = SourceAt(graph, node, 0);  // of any shape before
    if (flat == nullptr || flat->op != "Reshape") continue;
    std::vector<std::string> names = WordsAt(graph, *flat, 0);
    if (!names.empty()) return names;
  }
  return {};
}

}  // namespace tpuest::cli
