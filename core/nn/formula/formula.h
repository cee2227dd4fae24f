#pragma once
// Formulas over tensors: "mean(abs(labels - predictions))", "where(age < 0, nan, age)".
// config/formula/syntax.h describes the grammar. Functions have TensorFlow's names and arguments,
// and a formula can call every op in the graph's registry. A formula becomes nodes, so it can be
// differentiated, exported and lowered like the rest of the graph.
//
// As in TensorFlow, a number takes the type of the tensor it is combined with, two tensors must
// have one type, and dividing integers gives float64. x[...] follows NumPy with integers, slices,
// ... and None. `and`, `or`, `not` and `a if c else b` work element by element on tensors.

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
  // True if the tensors are [batch, ...] and the formula describes one example: its axes are those
  // of the example, and every result has a batch axis.
  bool rows = false;
};

// Builds the tensor that the formula describes. Throws Error kUsage, at the place in the formula,
// for wrong syntax, unknown names and functions, and types, shapes and arguments that do not fit.
[[nodiscard]] Value BuildFormula(Graph& graph, const Formula& formula, const FormulaNames& names);

// Throws Error kUsage, at the place in the formula, for wrong syntax.
void CheckFormula(const Formula& formula);

// The names that a formula reads, without those of functions. Throws as CheckFormula does.
[[nodiscard]] std::vector<std::string> NamesIn(const Formula& formula);

// A function that formulas may call, described for a manual.
struct FormulaFunction {
  std::string names;       // "reduce_mean mean"
  std::string parameters;  // "input_tensor, axis=None, keepdims=False"
};
// All of them: first the functions in tables here, then the ops of a registry, by name.
[[nodiscard]] std::vector<FormulaFunction> FormulaFunctions(const OpRegistry& registry);

}  // namespace tpuest::nn
