#include "core/backend/cpu/late_inputs.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace tpuest {
namespace {

constexpr int kMostDepth = 24;

ValueRange RangeOfConstant(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString || tensor.elements() == 0) return {};
  ValueRange range{tensor.AsDouble(0), tensor.AsDouble(0)};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.AsDouble(i);
    if (!(value - value == 0)) return {};  // infinity or NaN
    range = {std::min(range.least, value), std::max(range.most, value)};
  }
  return range;
}

// The corners of a product or quotient. 0 times infinity is NaN: such a range is unknown.
ValueRange Hull(std::initializer_list<double> corners) {
  ValueRange hull{*corners.begin(), *corners.begin()};
  for (const double corner : corners) {
    if (!(corner == corner)) return {};
    hull = {std::min(hull.least, corner), std::max(hull.most, corner)};
  }
  return hull;
}

ValueRange Quotient(const ValueRange& a, const ValueRange& b) {
  if (b.least <= 0 && b.most >= 0) return {};
  return Hull({a.least / b.least, a.least / b.most, a.most / b.least, a.most / b.most});
}

ValueRange RangeAt(const Value& value, const VariableRange& variable, int depth) {
  const Node& node = *value.node;
  const std::string_view op = node.type();
  if (op == "Const") return RangeOfConstant(node.Attr<Tensor>("value"));
  if (op == "ReadVariableOp") {
    if (IsFloating(value.dtype())) return variable(*node.input(0).node);
    return {0, static_cast<double>(std::numeric_limits<int64_t>::max())};
  }
  if (depth == 0 || node.inputs().empty()) return {};
  const auto of = [&](int input) { return RangeAt(node.input(input), variable, depth - 1); };
  if (op == "SelectV2") {
    const ValueRange yes = of(1);
    const ValueRange no = of(2);
    return {std::min(yes.least, no.least), std::max(yes.most, no.most)};
  }
  const ValueRange a = of(0);
  if (op == "Identity" || op == "Cast" || op == "Reshape") return a;
  if (op == "Neg") return {-a.most, -a.least};
  if (op == "Relu") return {std::max(a.least, 0.0), std::max(a.most, 0.0)};
  if (node.inputs().size() != 2) return {};
  const ValueRange b = of(1);
  if (op == "AddV2" || op == "Add") return {a.least + b.least, a.most + b.most};
  if (op == "Sub") return {a.least - b.most, a.most - b.least};
  if (op == "Minimum") return {std::min(a.least, b.least), std::min(a.most, b.most)};
  if (op == "Maximum") return {std::max(a.least, b.least), std::max(a.most, b.most)};
  if (op == "Mul") {
    return Hull({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
  }
  if (op == "RealDiv") return Quotient(a, b);
  return {};
}

}  // namespace

ValueRange RangeOf(const Value& value, const VariableRange& variable) {
  return RangeAt(value, variable, kMostDepth);
}

bool Replaces(const Node& update) { return update.type() == "AssignVariableOp"; }

bool AveragesFinite(const Node& update, const VariableRange& variable) {
  if (update.type() != "AssignSubVariableOp") return false;
  const Node& product = *update.input(1).node;
  if (product.type() != "Mul") return false;
  const Node& difference = *product.input(0).node;
  if (difference.type() != "Sub") return false;
  const Node& own = *difference.input(0).node;
  if (own.type() != "ReadVariableOp" || own.input(0).node != update.input(0).node) return false;
  constexpr double kFinite = std::numeric_limits<float>::max();
  return ValueRange{0, 1}.Contains(RangeOf(product.input(1), variable)) &&
         ValueRange{-kFinite, kFinite}.Contains(RangeOf(difference.input(1), variable));
}

}  // namespace tpuest
