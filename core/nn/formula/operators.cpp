#include "core/nn/formula/operators.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/nn/formula/call.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

struct OperatorOp {
  std::string_view sign;
  std::string_view op;
};
constexpr std::array kOperatorOps = {
    OperatorOp{"+", "AddV2"},        OperatorOp{"-", "Sub"},        OperatorOp{"*", "Mul"},
    OperatorOp{"/", "RealDiv"},      OperatorOp{"//", "FloorDiv"},  OperatorOp{"%", "FloorMod"},
    OperatorOp{"**", "Pow"},         OperatorOp{"&", "LogicalAnd"}, OperatorOp{"|", "LogicalOr"},
    OperatorOp{"^", "NotEqual"},     OperatorOp{"==", "Equal"},     OperatorOp{"!=", "NotEqual"},
    OperatorOp{"<", "Less"},         OperatorOp{"<=", "LessEqual"}, OperatorOp{">", "Greater"},
    OperatorOp{">=", "GreaterEqual"}};
std::string_view OpOf(std::string_view sign) {
  for (const OperatorOp& known : kOperatorOps) {
    if (known.sign == sign) return known.op;
  }
  return "";
}

// A number, or a tensor, that an operator takes.
void CheckOperand(const Expression& e, const Operand& operand) {
  const bool fits = operand.tensor() != nullptr ||
                    (operand.literal() != nullptr && !operand.none()) || operand.list() != nullptr;
  if (!fits) FailAt(e, fmt::format("'{}' does not take {}", e.text, Described(operand)));
}

bool IsTexts(const Operand& operand) {
  return operand.tensor() != nullptr && operand.tensor()->value.dtype() == DType::kString;
}

bool IsTwo(const Literal& literal) {
  return config::IsNumber(literal) && config::NumberOf(literal) == 2;
}

}  // namespace

bool IsTruth(const Operand& operand) {
  if (const Tensored* const tensor = operand.tensor()) {
    return tensor->value.dtype() == DType::kBool;
  }
  const Literal* const literal = operand.literal();
  return literal != nullptr && std::holds_alternative<bool>(literal->value);
}

Operand Operators::Pair(const Expression& e, std::string_view sign, const Operand& a,
                        const Operand& b) const {
  CheckOperand(e, a);
  CheckOperand(e, b);
  const Literal* const x = a.literal();
  const Literal* const y = b.literal();
  return BuiltAt(e, [&]() -> Operand {
    const bool compares =
        OpOf(sign) == "Equal" || sign == "!=" || sign.front() == '<' || sign.front() == '>';
    if (x != nullptr && y != nullptr) {
      if (compares) return {Literal{config::Compared(sign, *x, *y)}};
      return {config::Arithmetic(sign, *x, *y)};
    }
    if (sign == "/") return {Quotient(a, b)};
    if (sign == "+" && (IsTexts(a) || IsTexts(b))) {
      return {Elementwise(graph_, "StringJoin", {&a, &b}, "'+'")};
    }
    if (sign == "**" && y != nullptr && IsTwo(*y) && a.tensor() != nullptr) {
      const Tensored& base = *a.tensor();
      return {Tensored{ops::Square(base.value), base.rows}};
    }
    const bool logic = sign == "&" || sign == "|" || sign == "^";
    if (logic && !(IsTruth(a) && IsTruth(b))) {
      throw config::Misfit{
          fmt::format("'{}' takes bool values, found {} and {}", sign, Described(a), Described(b)),
          "put the comparisons beside it in parentheses"};
    }
    return {Elementwise(graph_, OpOf(sign), {&a, &b}, fmt::format("'{}'", sign))};
  });
}

// Whole numbers become real first: float32 those of up to 16 bits, the others float64.
Tensored Operators::Quotient(const Operand& a, const Operand& b) const {
  std::vector<Tensored> both = OfOneType(graph_, {&a, &b}, "'/'");
  const bool rows = AlignRows(both);
  const DType dtype = both[0].value.dtype();
  if (IsInteger(dtype)) {
    const DType real = SizeOf(dtype) <= 2 ? DType::kFloat : DType::kDouble;
    for (Tensored& one : both) one.value = ops::Cast(one.value, real);
  }
  return {ops::RealDiv(both[0].value, both[1].value), rows};
}

Operand Operators::Sign(const Expression& e, const Operand& a) const {
  CheckOperand(e, a);
  if (const Literal* const literal = a.literal()) {
    if (e.text == "not") return {Literal{!config::IsTrue(*literal)}};
    return BuiltAt(e, [&]() -> Operand { return {config::Signed(e.text, *literal)}; });
  }
  const bool logic = e.text == "not" || e.text == "~";
  if (a.tensor() == nullptr || (logic && !IsTruth(a))) {
    FailAt(e, fmt::format("'{}' takes {}, found {}", e.text, logic ? "a truth" : "a tensor",
                          Described(a)));
  }
  const Tensored& x = *a.tensor();
  if (e.text == "+") return {x};
  return BuiltAt(e, [&]() -> Operand {
    return {Tensored{logic ? ops::LogicalNot(x.value) : ops::Neg(x.value), x.rows}};
  });
}

Operand Operators::Compare(const Expression& e, std::string_view sign, const Operand& a,
                           const Operand& b) const {
  if (sign != "in" && sign != "not in") return Pair(e, sign, a, b);
  const Literal* const list = b.literal();
  const auto* const items = list == nullptr ? nullptr : std::get_if<Literals>(&list->value);
  if (const Literal* const item = a.literal(); item != nullptr && list != nullptr) {
    return BuiltAt(e, [&]() -> Operand { return {Literal{config::Compared(sign, *item, *list)}}; });
  }
  if (items == nullptr || items->empty()) {
    FailAt(e, fmt::format("'{}' takes a list of values, found {}", sign, Described(b)));
  }
  std::optional<Operand> any;
  for (const Literal& item : *items) {
    const Operand one = Pair(e, sign == "in" ? "==" : "!=", a, {item});
    any = any ? BuiltAt(e,
                        [&]() -> Operand {
                          return {Elementwise(graph_, sign == "in" ? "LogicalOr" : "LogicalAnd",
                                              {&*any, &one}, "'in'")};
                        })
              : one;
  }
  return *any;
}

Operand Operators::Both(const Expression& e, const Operand& a, const Operand& b) const {
  if (a.literal() != nullptr) return config::IsTrue(*a.literal()) ? b : a;
  if (b.literal() != nullptr) return config::IsTrue(*b.literal()) ? a : b;
  return BuiltAt(e, [&]() -> Operand {
    return {Elementwise(graph_, "LogicalAnd", {&a, &b}, "'and'")};
  });
}

Operand Operators::Logic(const Expression& e, const Operand& a, const Operand& b) const {
  const bool is_and = e.kind == Expression::Kind::kAnd;
  if (a.literal() != nullptr) return config::IsTrue(*a.literal()) == is_and ? b : a;
  if (!IsTruth(a) || !IsTruth(b)) {
    FailAt(e,
           fmt::format("'{}' takes bool values, found {} and {}", is_and ? "and" : "or",
                       Described(a), Described(b)),
           "a comparison gives one");
  }
  return BuiltAt(e, [&]() -> Operand {
    return {Elementwise(graph_, is_and ? "LogicalAnd" : "LogicalOr", {&a, &b}, e.text)};
  });
}

}  // namespace tpuest::nn
