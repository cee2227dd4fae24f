#pragma once
// The values of formulas over numbers and strings, with Python's operators and functions.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tpuest::config {

// The value of a formula; monostate is none.
struct Literal;
using Literals = std::vector<Literal>;
struct Literal {
  std::variant<std::monostate, bool, int64_t, double, std::string, Literals> value;
};

// Thrown for an operand or argument of the wrong kind; the caller adds the place.
struct Misfit {
  std::string message;
  std::string hint = {};
};

// Returns the kind of the value for messages: "an integer", "a list".
[[nodiscard]] std::string KindOf(const Literal& literal);

// Python's truth of a value: false are none, false, 0, "" and [].
[[nodiscard]] bool IsTrue(const Literal& literal);

// True for integers and reals.
[[nodiscard]] bool IsNumber(const Literal& literal);
// The number as a double; IsNumber holds.
[[nodiscard]] double NumberOf(const Literal& literal);

// Returns the value as text: a string itself, a number in its shortest form, "true", "none", "[1,
// 2]".
[[nodiscard]] std::string TextOf(const Literal& literal);

// a op b for + - * / // % ** & | ^. Throws Misfit.
[[nodiscard]] Literal Arithmetic(std::string_view op, const Literal& a, const Literal& b);
// a op b for == != < <= > >= in, "not in". Throws Misfit.
[[nodiscard]] bool Compared(std::string_view op, const Literal& a, const Literal& b);
// -a, +a, ~a. Throws Misfit.
[[nodiscard]] Literal Signed(std::string_view op, const Literal& a);
// list[index]. Throws Misfit.
[[nodiscard]] Literal ItemOf(const Literal& list, const Literal& index);
// list[begin:end:stride] of a list or a text; none: from the start, to the end, 1. Throws Misfit.
[[nodiscard]] Literal PartOf(const Literal& list, std::span<const Literal> bounds);

// A function of numbers, texts and lists: abs, ceil, float, floor, int, len, make_divisible, max,
// min, round, str, sum.
struct LiteralFunction {
  std::string_view name;
  size_t least = 1;  // arguments
  size_t most = 1;
  Literal (*call)(const Literals& arguments);
};
[[nodiscard]] std::span<const LiteralFunction> LiteralFunctions();
// The function of that name, or nullptr.
[[nodiscard]] const LiteralFunction* FindLiteralFunction(std::string_view name);
// Its value. Throws Misfit.
[[nodiscard]] Literal Invoke(const LiteralFunction& function, const Literals& arguments);

}  // namespace tpuest::config
