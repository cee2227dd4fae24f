#pragma once
// The parts of a formula while it becomes nodes. Seen only by core/nn/formula.

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

// A tensor; `rows`: its first axis is the batch, of which the formula does not know.
struct Tensored {
  Value value;
  bool rows = false;
};

// x[mask]: as many elements as are true in the mask, which has x's first axes. That is no tensor
// here, but reductions take it.
struct Masked {
  Tensored x;
  Tensored mask;
};

// split(x, separator): the parts of each text, as many as it has. That is no tensor here, but some
// of them are.
struct Parts {
  Tensored x;
  std::string separator = {};  // "": spaces
  int64_t most_splits = -1;    // -1: any number
};

// The value of a part: a Python value, a tensor, a type, what a mask picks, a list of such, or the
// parts of texts.
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

// Calls f(); an Error or a Misfit from it is a FormulaError at the expression.
template <class F>
auto BuiltAt(const Expression& e, F f) {
  try {
    return config::AtExpression(e, f);
  } catch (const Error& error) {
    throw FormulaError{error.message(), error.faults().front().hint, e.at, e.width};
  }
}

// The text in quotes, for messages: the beginning of a long one.
[[nodiscard]] std::string Quoted(std::string_view text);

// What it is, for messages: "float32 [?,3]", "an integer".
[[nodiscard]] std::string Described(const Operand& operand);

// How parts of texts become tensors.
[[nodiscard]] std::string WayOutOfParts(const Parts& parts);

// The bounds of an integer type that int64 has.
[[nodiscard]] int64_t LeastOf(DType dtype);
[[nodiscard]] int64_t MostOf(DType dtype);

// The type that TensorFlow gives a Python value: float32 of reals, int32 of integers that fit, else
// int64, bool, string. Throws Misfit for a list of nothing, or of values that make no tensor.
[[nodiscard]] DType NaturalType(const Literal& literal);
// A Python value as a constant of that type. Throws Misfit where TensorFlow refuses it.
[[nodiscard]] Tensor TensorOf(const Literal& literal, DType dtype);

// The operand as a tensor: of a Python value, of `dtype`, or of its natural one; of a list of
// tensors, stacked. Throws Misfit.
[[nodiscard]] Tensored ToTensor(Graph& graph, const Operand& operand,
                                std::optional<DType> dtype = std::nullopt);

// All operands as tensors of one type: the first tensor's, to which Python values are converted.
// Throws Misfit, which names `what`, where tensors have several types.
[[nodiscard]] std::vector<Tensored> OfOneType(Graph& graph, const std::vector<const Operand*>& from,
                                              std::string_view what);

// True if one of them is about rows; those of fewer axes then have axes of 1 behind the batch, so
// that their last axes meet as they would without it.
bool AlignRows(std::vector<Tensored>& tensors);

}  // namespace tpuest::nn
