#pragma once
// The operators of formulas, on operands that are built. Seen only by core/nn/formula.

#include <string_view>

#include "core/nn/formula/operand.h"

namespace tpuest::nn {

// True for a bool tensor and for Python's True and False.
[[nodiscard]] bool IsTruth(const Operand& operand);

// Computes Python's values at once and adds nodes for tensors. All throw FormulaError at the
// expression.
class Operators {
 public:
  explicit Operators(Graph& graph) : graph_(graph) {}

  // a + b, a < b and so on, by the sign.
  [[nodiscard]] Operand Pair(const Expression& e, std::string_view sign, const Operand& a,
                             const Operand& b) const;
  // One comparison of a chain, or "in".
  [[nodiscard]] Operand Compare(const Expression& e, std::string_view sign, const Operand& a,
                                const Operand& b) const;
  // Both comparisons of a chain.
  [[nodiscard]] Operand Both(const Expression& e, const Operand& a, const Operand& b) const;
  [[nodiscard]] Operand Sign(const Expression& e, const Operand& a) const;
  // "and", "or".
  [[nodiscard]] Operand Logic(const Expression& e, const Operand& a, const Operand& b) const;

 private:
  [[nodiscard]] Tensored Quotient(const Operand& a, const Operand& b) const;

  Graph& graph_;
};

}  // namespace tpuest::nn
