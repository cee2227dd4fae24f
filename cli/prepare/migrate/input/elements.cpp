#include "cli/prepare/migrate/input/elements.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/input/parser.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr int kMostSteps = 64;  // a damaged graph may go in circles

// The function's tensor that a tensor is, in another dtype or shape or serialized.
std::string Origin(const SeenGraph& function, std::string tensor) {
  static const std::set<std::string_view> kPassed = {"Identity",   "Cast",    "Reshape",
                                                     "ExpandDims", "Squeeze", "EnsureShape"};
  for (int i = 0; i < kMostSteps; ++i) {
    const SeenNode* const at = function.Find(tensor);
    if (at == nullptr || at->inputs.empty()) return tensor;
    const bool is_packed = at->op == "SerializeManySparse" || at->op == "SerializeSparse";
    if (is_packed && at->inputs.size() > 1) {
      tensor = at->inputs[1];
    } else if (at->op == "DeserializeSparse" || kPassed.contains(at->op)) {
      tensor = at->inputs[0];
    } else {
      return tensor;
    }
  }
  return tensor;
}

// The feature that a tensor of a parser ("ParseExample:dense_values:3") is; "" for another tensor.
std::string ParsedName(const SeenGraph& function, const std::string& tensor) {
  const SeenNode* const node = function.Find(tensor);
  const std::vector<std::string> parts = Split(tensor, ':');
  if (node == nullptr || parts.size() != 3) return "";
  const std::optional<ParserKeys> keys = ParserKeysOf(function, *node);
  if (!keys) return "";
  const size_t index = OutputOf(parts[1] + ":" + parts[2]);
  const bool is_sparse = parts[1] == "sparse_values";
  if (!is_sparse && parts[1] != "dense_values") return "";
  const std::vector<std::string>& names = is_sparse ? keys->sparse : keys->dense;
  return index < names.size() ? names[index] : "";
}

std::vector<std::string> ThroughFunction(const SeenFunction& function,
                                         const std::vector<std::string>& elements) {
  std::vector<std::string> results;
  for (const std::string& result : function.results) {
    const std::string origin = Origin(function.body, result);
    const auto argument = std::find(function.arguments.begin(), function.arguments.end(), origin);
    const auto index = static_cast<size_t>(argument - function.arguments.begin());
    const bool is_element = argument != function.arguments.end() && index < elements.size();
    results.push_back(is_element ? elements[index] : ParsedName(function.body, origin));
  }
  return results;
}

bool KeepsElements(std::string_view op) {
  for (const std::string_view kind :
       {"Repeat", "Shuffle", "Batch", "ParallelBatch", "Prefetch", "Take", "Skip", "Cache",
        "Options", "Model", "Filter", "PaddedBatch", "AssertCardinality", "Shard", "Optimize",
        "MaxIntraOpParallelism", "PrivateThreadPool", "IgnoreErrors"}) {
    if (op.starts_with(kind)) return true;
  }
  return false;
}

}  // namespace

std::vector<const SeenNode*> DatasetsOf(const SeenGraph& graph) {
  std::vector<const SeenNode*> datasets;
  for (const SeenNode& node : graph.nodes()) {
    if (node.op != "MakeIterator" || node.inputs.empty()) continue;
    const SeenNode* at = SourceAt(graph, node, 0);
    for (int i = 0; i < kMostSteps && at != nullptr; ++i) {
      if (at->op.find("Dataset") == std::string::npos) break;
      datasets.push_back(at);
      at = SourceAt(graph, *at, 0);
    }
    break;
  }
  return datasets;
}

std::vector<std::string> IteratorFeatures(const SeenGraph& graph) {
  std::vector<const SeenNode*> datasets = DatasetsOf(graph);
  std::reverse(datasets.begin(), datasets.end());
  std::vector<std::string> elements;
  for (const SeenNode* const dataset : datasets) {
    if (dataset->op.starts_with("ParseExampleDataset")) {
      const std::optional<ParserKeys> keys = ParserKeysOf(graph, *dataset);
      elements.clear();
      if (!keys) continue;
      elements = keys->sparse;
      elements.insert(elements.end(), keys->dense.begin(), keys->dense.end());
      std::sort(elements.begin(), elements.end());
      continue;
    }
    if (KeepsElements(dataset->op)) continue;
    const bool maps = dataset->op.starts_with("Map") || dataset->op.starts_with("ParallelMap");
    const auto name = dataset->functions.find("f");
    const SeenFunction* const function =
        maps && name != dataset->functions.end() ? graph.FindFunction(name->second) : nullptr;
    if (function == nullptr) {
      elements.clear();
    } else {
      elements = ThroughFunction(*function, elements);
    }
  }
  const bool any = std::any_of(elements.begin(), elements.end(),
                               [](const std::string& name) { return !name.empty(); });
  return any ? elements : std::vector<std::string>();
}

}  // namespace tpuest::cli
