#include "cli/prepare/migrate/graph/numbers.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tpuest::cli {
namespace {

using Binary = double (*)(double, double);

Binary BinaryOf(std::string_view op) {
  static const std::map<std::string_view, Binary> kOps = {
      {"Add", [](double a, double b) { return a + b; }},
      {"AddV2", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"RealDiv", [](double a, double b) { return a / b; }},
      {"Maximum", [](double a, double b) { return std::max(a, b); }},
      {"Minimum", [](double a, double b) { return std::min(a, b); }},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

// `left` is how many nodes deep it may go, because a damaged graph may go in circles.
std::optional<double> Scalar(const SeenGraph& graph, const SeenNode& node, size_t input, int left) {
  const auto constant = graph.ConstantAt(node, input);
  if (constant) {
    const bool is_number = constant->elements() == 1 && constant->dtype() != DType::kString;
    return is_number ? std::optional(constant->AsDouble(0)) : std::nullopt;
  }
  const SeenNode* const at =
      left > 0 && input < node.inputs.size() ? graph.Find(node.inputs[input]) : nullptr;
  if (at == nullptr) return std::nullopt;
  if (at->op == "Cast" || at->op == "Identity") return Scalar(graph, *at, 0, left - 1);
  const Binary compute = BinaryOf(at->op);
  if (compute == nullptr) return std::nullopt;
  const auto a = Scalar(graph, *at, 0, left - 1);
  const auto b = a ? Scalar(graph, *at, 1, left - 1) : std::nullopt;
  return b ? std::optional(compute(*a, *b)) : std::nullopt;
}

}  // namespace

std::optional<double> ScalarAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  constexpr int kDeepest = 8;
  return Scalar(graph, node, input, kDeepest);
}

}  // namespace tpuest::cli
