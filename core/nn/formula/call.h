#pragma once
// A call in a formula: its arguments bound to a function's parameters. Private to core/nn/formula.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/formula/operand.h"

namespace tpuest::nn {

// A parameter of a function: required, or with its default value as text.
struct Parameter {
  std::string name;
  std::optional<std::string> by_default;
};

// Parses "input, axis=None, keepdims=False" into its parameters.
[[nodiscard]] std::vector<Parameter> ParametersOf(std::string_view text);

// The arguments of a call in the order of the parameters; an argument that was not given is None.
class Arguments {
 public:
  // Throws FormulaError for missing arguments, too many arguments and unknown names.
  Arguments(Graph& graph, const Expression& call, const std::vector<Parameter>& parameters,
            Operands values);

  [[nodiscard]] Graph& graph() const { return graph_; }
  [[nodiscard]] const Expression& call() const { return call_; }
  [[nodiscard]] const Operand& at(size_t i) const { return bound_[i]; }
  // The expression of argument i, or the whole call if the argument was not given.
  [[nodiscard]] const Expression& place(size_t i) const;
  [[nodiscard]] const std::string& name(size_t i) const { return parameters_[i].name; }
  [[nodiscard]] bool Has(size_t i) const { return !bound_[i].none(); }

  [[nodiscard]] Tensored Tensor(size_t i, std::optional<DType> dtype = std::nullopt) const;
  // The arguments as tensors of one type, with aligned rows.
  [[nodiscard]] std::vector<Tensored> Alike(std::span<const size_t> which) const;
  // The items of a list argument as tensors of one type.
  [[nodiscard]] std::vector<Tensored> Items(size_t i) const;
  [[nodiscard]] int64_t Integer(size_t i, std::optional<int64_t> otherwise = std::nullopt) const;
  [[nodiscard]] double Number(size_t i, std::optional<double> otherwise = std::nullopt) const;
  [[nodiscard]] bool Truth(size_t i, bool otherwise) const;
  [[nodiscard]] DType Type(size_t i, std::optional<DType> otherwise = std::nullopt) const;
  // One integer, or a list of them.
  [[nodiscard]] std::vector<int64_t> Integers(size_t i) const;
  // The axis of x that argument i names, counted from 0 and including the batch axis, which the
  // formula does not see. `extra` is 1 if the axis is to be added.
  [[nodiscard]] int Axis(size_t i, const Tensored& x, std::optional<int64_t> otherwise,
                         int extra = 0) const;
  // The axes that argument i names, counted likewise; all axes if it was not given.
  [[nodiscard]] std::vector<int64_t> Axes(size_t i, const Tensored& x) const;

  [[noreturn]] void Fail(size_t i, std::string message, std::string hint = "") const;

 private:
  [[nodiscard]] int AxisOf(size_t i, int64_t named, const Tensored& x, int extra) const;

  Graph& graph_;
  const Expression& call_;
  const std::vector<Parameter>& parameters_;
  Operands bound_;
  std::vector<const Expression*> places_;
};

// A function with TensorFlow's names and arguments.
struct FormulaRecord {
  std::string_view names;  // separated by spaces; the first one is shown to readers
  std::string_view parameters;
  Operand (*build)(const Arguments& a);
};

[[nodiscard]] std::span<const FormulaRecord> MathFunctions();
[[nodiscard]] std::span<const FormulaRecord> ArrayFunctions();
[[nodiscard]] std::span<const FormulaRecord> NetworkFunctions();
[[nodiscard]] std::span<const FormulaRecord> TextFunctions();
// All records, one table after another.
[[nodiscard]] std::vector<FormulaRecord> AllRecords();
// Throws FormulaError, with the reason, if `name` is a TensorFlow function that formulas do not
// support.
void RefuseByName(const Expression& e, std::string_view name);
// The record of that name, or nullptr.
[[nodiscard]] const FormulaRecord* FindRecord(std::string_view name);

// A function that is written as a formula of its parameters.
struct WrittenFunction {
  std::string_view name;
  std::string_view parameters;
  std::string_view formula;
};
[[nodiscard]] std::span<const WrittenFunction> WrittenFunctions();
// The function of that name, or nullptr.
[[nodiscard]] const WrittenFunction* FindWritten(std::string_view name);

// Finds an op by the name that a formula uses: TensorFlow's public name, or the op's own name in
// lower case. Returns nullptr if there is none.
[[nodiscard]] const RegisteredOp* FindOp(const OpRegistry& registry, std::string_view name);
// The names by which FindOp finds ops.
[[nodiscard]] std::vector<std::string> OpNames(const OpRegistry& registry);
// The parameters of a call of an op: its inputs, then the attributes that the inputs do not
// determine.
[[nodiscard]] std::vector<Parameter> ParametersOf(const RegisteredOp& op);
[[nodiscard]] Operand CallOp(const RegisteredOp& op, const Arguments& a);
// Applies an op to tensors, which are converted to one type and broadcast from the last axis.
[[nodiscard]] Tensored Elementwise(Graph& graph, std::string_view op,
                                   const std::vector<const Operand*>& operands,
                                   std::string_view what);

// Functions for the parts of split texts: the parts themselves, some of them, and their number.
[[nodiscard]] Operand BuildSplit(const Arguments& a);
struct IndexPosition;
[[nodiscard]] Operand PartsIndexed(const Expression& e, const Parts& parts,
                                   const std::vector<IndexPosition>& positions);
[[nodiscard]] Tensored CountOfParts(const Parts& parts);

// x[mask] for a bool mask whose axes are the first axes of x.
[[nodiscard]] Operand MaskedBy(const Expression& e, const Tensored& x, const Tensored& mask);
// where(mask, x, filler) for x[mask] in the first argument. A filler of -inf or inf becomes the
// smallest or largest value of x's type.
[[nodiscard]] Tensored WhereMasked(const Arguments& a, double filler);
// Returns 1 where the mask picks an element of x and 0 elsewhere, in x's shape and type.
[[nodiscard]] Value MaskAsNumbers(const Masked& masked);

// x[...] of a tensor. `values` holds an index, or the bounds of a slice.
struct IndexPosition {
  const Expression* e = nullptr;
  Operands values = {};  // one index, or begin, end and stride
};
[[nodiscard]] Operand Indexed(const Expression& e, const Tensored& x,
                              const std::vector<IndexPosition>& positions);

}  // namespace tpuest::nn
