#pragma once
// A call in a formula: its arguments bound to a function's parameters. Seen only by
// core/nn/formula.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/formula/operand.h"

namespace tpuest::nn {

// A parameter of a function: required, or with what it is by default, for a reader.
struct Parameter {
  std::string name;
  std::optional<std::string> by_default;
};

// The parameters of "input, axis=None, keepdims=False".
[[nodiscard]] std::vector<Parameter> ParametersOf(std::string_view text);

// The arguments of a call in the order of the parameters; those that were not given are none.
class Arguments {
 public:
  // Throws FormulaError for arguments that are missing, too many, or of another name.
  Arguments(Graph& graph, const Expression& call, const std::vector<Parameter>& parameters,
            Operands values);

  [[nodiscard]] Graph& graph() const { return graph_; }
  [[nodiscard]] const Expression& call() const { return call_; }
  [[nodiscard]] const Operand& at(size_t i) const { return bound_[i]; }
  // Where the argument stands; the call where it was not given.
  [[nodiscard]] const Expression& place(size_t i) const;
  [[nodiscard]] const std::string& name(size_t i) const { return parameters_[i].name; }
  [[nodiscard]] bool Has(size_t i) const { return !bound_[i].none(); }

  [[nodiscard]] Tensored Tensor(size_t i, std::optional<DType> dtype = std::nullopt) const;
  // The arguments as tensors of one type, aligned.
  [[nodiscard]] std::vector<Tensored> Alike(std::span<const size_t> which) const;
  // The items of a list argument as tensors of one type.
  [[nodiscard]] std::vector<Tensored> Items(size_t i) const;
  [[nodiscard]] int64_t Integer(size_t i, std::optional<int64_t> otherwise = std::nullopt) const;
  [[nodiscard]] double Number(size_t i, std::optional<double> otherwise = std::nullopt) const;
  [[nodiscard]] bool Truth(size_t i, bool otherwise) const;
  [[nodiscard]] DType Type(size_t i, std::optional<DType> otherwise = std::nullopt) const;
  // One integer, or a list of them.
  [[nodiscard]] std::vector<int64_t> Integers(size_t i) const;
  // An axis of x as the tensor has it, from 0: behind the batch that the formula does not know of.
  // `extra`: 1 where the axis is to be added.
  [[nodiscard]] int Axis(size_t i, const Tensored& x, std::optional<int64_t> otherwise,
                         int extra = 0) const;
  // Axes likewise; all of them where none are given.
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
  std::string_view names;  // separated by spaces; the first is the one that is told
  std::string_view parameters;
  Operand (*build)(const Arguments& a);
};

[[nodiscard]] std::span<const FormulaRecord> MathFunctions();
[[nodiscard]] std::span<const FormulaRecord> ArrayFunctions();
[[nodiscard]] std::span<const FormulaRecord> NetworkFunctions();
[[nodiscard]] std::span<const FormulaRecord> TextFunctions();
// All records, a table after the other.
[[nodiscard]] std::vector<FormulaRecord> AllRecords();
// Fails at a call of a function of TensorFlow's that cannot be here, with the reason.
void RefuseByName(const Expression& e, std::string_view name);
// The record of that name, or nullptr.
[[nodiscard]] const FormulaRecord* FindRecord(std::string_view name);

// A function that is a formula of its parameters.
struct WrittenFunction {
  std::string_view name;
  std::string_view parameters;
  std::string_view formula;
};
[[nodiscard]] std::span<const WrittenFunction> WrittenFunctions();
// The one of that name, or nullptr.
[[nodiscard]] const WrittenFunction* FindWritten(std::string_view name);

// The op that a formula calls by this name, TensorFlow's public one or the op's own in small
// letters; nullptr: none.
[[nodiscard]] const RegisteredOp* FindOp(const OpRegistry& registry, std::string_view name);
// The names of such ops.
[[nodiscard]] std::vector<std::string> OpNames(const OpRegistry& registry);
// The parameters of a call of an op: its inputs, then the attributes that do not follow from them.
[[nodiscard]] std::vector<Parameter> ParametersOf(const RegisteredOp& op);
[[nodiscard]] Operand CallOp(const RegisteredOp& op, const Arguments& a);
// An op on tensors, which become of one type and meet from the right.
[[nodiscard]] Tensored Elementwise(Graph& graph, std::string_view op,
                                   const std::vector<const Operand*>& operands,
                                   std::string_view what);

// The parts of texts; some of them; how many there are.
[[nodiscard]] Operand BuildSplit(const Arguments& a);
struct IndexPosition;
[[nodiscard]] Operand PartsIndexed(const Expression& e, const Parts& parts,
                                   const std::vector<IndexPosition>& positions);
[[nodiscard]] Tensored CountOfParts(const Parts& parts);

// x[mask] by truths, whose axes are x's first ones.
[[nodiscard]] Operand MaskedBy(const Expression& e, const Tensored& x, const Tensored& mask);
// where(mask, x, filler) of the first argument, x[mask]: -inf and inf are the least and the most of
// x's type.
[[nodiscard]] Tensored WhereMasked(const Arguments& a, double filler);
// 1 where the mask picks an element of x and 0 elsewhere, in x's shape and type.
[[nodiscard]] Value MaskAsNumbers(const Masked& masked);

// x[...] of a tensor. `positions` are the values of the index's parts, slices their bounds.
struct IndexPosition {
  const Expression* e = nullptr;
  Operands values = {};  // one, or begin, end, stride
};
[[nodiscard]] Operand Indexed(const Expression& e, const Tensored& x,
                              const std::vector<IndexPosition>& positions);

}  // namespace tpuest::nn
