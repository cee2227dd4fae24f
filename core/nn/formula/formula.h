#pragma once
// Formulas over tensors: "mean(abs(labels - predictions))", "where(age < 0, nan, age)". The grammar
// is config/formula/syntax.h; functions have TensorFlow's names and arguments, and every op of the
// graph's registry is one. A formula becomes nodes, so it is differentiated, exported and lowered
// as all else.
//
// Numbers take the type of the tensor beside them, as in TensorFlow; two tensors are of one type.
// Whole numbers that are divided give float64, as there. x[...] is NumPy's with whole numbers,
// slices, ..., None; a truth of tensors in `and`, `or`, `not` and `a if c else b` is element by
// element.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/formula_text.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

// What the names in a formula stand for.
struct FormulaNames {
  std::map<std::string, Value, std::less<>> values = {};
  // "x[0]": several tensors under one name.
  std::map<std::string, std::vector<Value>, std::less<>> lists = {};
  // "features['x']": tensors by name under one name.
  std::map<std::string, std::map<std::string, Value>, std::less<>> groups = {};
  // True: the tensors are [batch, ...] and the formula is about one example. Its axes are those of
  // an example, and every result has a batch axis.
  bool rows = false;
};

// The tensor that a formula gives. Throws Error kUsage, at the place in the formula, for what is no
// formula, for names and functions that are not there, and for types, shapes and arguments that do
// not fit.
[[nodiscard]] Value BuildFormula(Graph& graph, const Formula& formula, const FormulaNames& names);

// Throws Error kUsage, at the place in the formula, for what is no formula.
void CheckFormula(const Formula& formula);

// The names that a formula reads, but for functions. Throws as CheckFormula.
[[nodiscard]] std::vector<std::string> NamesIn(const Formula& formula);

// A function that formulas may call, for the reader of a manual.
struct FormulaFunction {
  std::string names;       // "reduce_mean mean"
  std::string parameters;  // "input_tensor, axis=None, keepdims=False"
};
// All of them: what stands in tables here, then the ops of a registry, by name.
[[nodiscard]] std::vector<FormulaFunction> FormulaFunctions(const OpRegistry& registry);

}  // namespace tpuest::nn
