#pragma once
// The parts of a formula while it is built into nodes. Private to core/nn/formula.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/formula/syntax.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

using config::Expression;
using config::FormulaError;
using config::Literal;
using config::Literals;

// A tensor. With `rows`, its first axis is the batch, which the formula does not see.
struct Tensored {
  Value value;
  bool rows = false;
};

// x[mask]: the elements of x for which the mask is true; the mask has the first axes of x. Their
// number varies, so this is not a tensor, but reductions accept it.
struct Masked {
  Tensored x;
  Tensored mask;
};

// split(x, separator): the parts of each text. Their number varies, so this is not a tensor, but an
// index of it is.
struct Parts {
  Tensored x;
  std::string separator = {};  // "": whitespace
  int64_t most_splits = -1;    // -1: any number
};

// The value of a subexpression: a Python value, a tensor, a type, elements that a mask picks, a
// list of operands, or the parts of texts.
struct Operand {
  std::variant<Literal, Tensored, DType, std::vector<Operand>, Masked, Parts> is;

  [[nodiscard]] const Literal* literal() const { return std::get_if<Literal>(&is); }
  [[nodiscard]] const Tensored* tensor() const { return std::get_if<Tensored>(&is); }
  [[nodiscard]] const std::vector<Operand>* list() const {
    return std::get_if<std::vector<Operand>>(&is);
  }
  [[nodiscard]] const Masked* masked() const { return std::get_if<Masked>(&is); }
  [[nodiscard]] const Parts* parts() const { return std::get_if<Parts>(&is); }
  // None, or an argument that was not given.
  [[nodiscard]] bool none() const { return literal() != nullptr && literal()->value.index() == 0; }
};
using Operands = std::vector<Operand>;

[[noreturn]] void FailAt(const Expression& e, std::string message, std::string hint = "");

// Calls f() and rethrows an Error or a Misfit as a FormulaError at the expression.
template <class F>
auto BuiltAt(const Expression& e, F f) {
  try {
    return config::AtExpression(e, f);
  } catch (const Error& error) {
    throw FormulaError{error.message(), error.faults().front().hint, e.at, e.width};
  }
}

// Returns the text in quotes for a message; a long text is cut.
[[nodiscard]] std::string Quoted(std::string_view text);

// Describes an operand for a message: "float32 [?,3]", "an integer".
[[nodiscard]] std::string Described(const Operand& operand);

// A hint that shows how to turn the parts of texts into tensors.
[[nodiscard]] std::string WayOutOfParts(const Parts& parts);

// The smallest and largest values of an integer type that int64 can hold.
[[nodiscard]] int64_t LeastOf(DType dtype);
[[nodiscard]] int64_t MostOf(DType dtype);

// The type that TensorFlow gives a Python value: float32 for reals, int32 for integers that fit and
// int64 for others, bool, string. Throws Misfit for an empty list and for values that do not form a
// tensor.
[[nodiscard]] DType NaturalType(const Literal& literal);
// Converts a Python value to a constant of that type. Throws Misfit if TensorFlow refuses it.
[[nodiscard]] Tensor TensorOf(const Literal& literal, DType dtype);

// Converts the operand to a tensor: a Python value gets `dtype` or its natural type, and a list of
// tensors is stacked. Throws Misfit.
[[nodiscard]] Tensored ToTensor(Graph& graph, const Operand& operand,
                                std::optional<DType> dtype = std::nullopt);

// Converts all operands to tensors of one type, that of the first tensor. Throws Misfit, which
// names `what`, if the tensors have several types.
[[nodiscard]] std::vector<Tensored> OfOneType(Graph& graph, const std::vector<const Operand*>& from,
                                              std::string_view what);

// Returns true if a tensor has a batch axis (`rows`). Tensors of lower rank then get axes of size 1
// after the batch, so that last axes broadcast as they would without a batch.
bool AlignRows(std::vector<Tensored>& tensors);

}  // namespace tpuest::nn
