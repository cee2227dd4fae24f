#include "cli/prepare/migrate/graph/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "core/base/error.h"

namespace tpuest::cli {
namespace {

constexpr int kMostNodes = 32;  // a damaged graph may go in circles

// Returns the position of tf.gradients' scope in a name, "gradients_1" for its second use; npos if
// absent.
size_t GradientsIn(std::string_view name) {
  return std::min(name.find("gradients/"), name.find("gradients_"));
}

bool HandsOn(const SeenNode& node) {
  static const std::set<std::string_view> kOps = {
      "Identity", "StopGradient",  "PreventGradient",        "CheckNumerics",
      "Snapshot", "EnsureShape",   "PlaceholderWithDefault", "TPUReplicatedInput",
      "Enter",    "ReadVariableOp"};
  return kOps.contains(node.op);
}

}  // namespace

bool IsVariable(const SeenNode& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}

const SeenNode* SourceAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  const SeenNode* at = input < node.inputs.size() ? graph.Find(node.inputs[input]) : nullptr;
  for (int i = 0; i < kMostNodes && at != nullptr && HandsOn(*at); ++i) {
    at = at->inputs.empty() ? nullptr : graph.Find(at->inputs[0]);
  }
  return at == nullptr || HandsOn(*at) ? nullptr : at;
}

std::optional<std::string> VariableAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  const SeenNode* at = SourceAt(graph, node, input);
  if (at != nullptr && at->op == "Cast") at = SourceAt(graph, *at, 0);
  if (at == nullptr || !IsVariable(*at)) return std::nullopt;
  constexpr std::string_view kPart = "/part_0";  // partitioned variables of one part end so
  std::string name = at->name;
  if (name.ends_with(kPart)) name.resize(name.size() - kPart.size());
  return name;
}

std::optional<std::string> ResultOf(const SeenGraph& function, std::string tensor,
                                    const SeenNode& node) {
  static const std::set<std::string_view> kPassed = {"Identity", "Cast", "Reshape", "ExpandDims",
                                                     "Squeeze"};
  for (int i = 0; i < kMostNodes; ++i) {
    const SeenNode* const at = function.Find(tensor);
    if (at == &node) return tensor;
    if (at == nullptr || !kPassed.contains(at->op) || at->inputs.empty()) return std::nullopt;
    tensor = at->inputs[0];
  }
  return std::nullopt;
}

std::string ScopeOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  return std::string(slash == std::string_view::npos ? "" : name.substr(0, slash));
}

size_t OutputOf(std::string_view tensor) {
  const size_t colon = tensor.find(':');
  size_t output = 0;
  if (colon != std::string_view::npos) {
    std::from_chars(tensor.data() + colon + 1, tensor.data() + tensor.size(), output);
  }
  return output;
}

bool IsOp(const SeenNode& node, std::string_view op) {
  if (!node.op.starts_with(op)) return false;
  const std::string_view rest = std::string_view(node.op).substr(op.size());
  return rest.empty() || rest == "V2" || rest == "V3";
}

bool IsSum(const SeenNode& node) { return node.op == "AddV2" || node.op == "Add"; }

bool ChangesGradient(const SeenGraph& graph, const SeenNode& node, std::string_view scope) {
  const size_t at = node.name.find(scope);
  if (at == std::string::npos || GradientsIn(node.name) < at) return false;
  std::set<const SeenNode*> seen = {&node};
  std::vector<const SeenNode*> open = {&node};
  while (!open.empty()) {
    const SeenNode* const next = open.back();
    open.pop_back();
    for (const std::string& input : next->inputs) {
      if (GradientsIn(input) != std::string::npos) return true;
      const SeenNode* const before = graph.Find(input);
      if (before != nullptr && seen.insert(before).second) open.push_back(before);
    }
  }
  return false;
}

std::string Described(const SeenNode* node) {
  return node == nullptr ? "nothing" : fmt::format("{} \"{}\"", node->op, node->name);
}

}  // namespace tpuest::cli
