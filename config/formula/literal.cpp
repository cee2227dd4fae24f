#include "config/formula/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace tpuest::config {

bool IsNumber(const Literal& literal) {
  return std::holds_alternative<int64_t>(literal.value) ||
         std::holds_alternative<double>(literal.value);
}

double NumberOf(const Literal& literal) {
  const auto* const integer = std::get_if<int64_t>(&literal.value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(literal.value);
}

std::string KindOf(const Literal& literal) {
  constexpr std::array<std::string_view, 6> kKinds = {"none",     "true or false", "an integer",
                                                      "a number", "a text",        "a list"};
  return std::string(kKinds.at(literal.value.index()));
}

namespace {

using Arguments = Literals;

int64_t IntegerOf(const Literal& a, std::string_view what) {
  if (const auto* const integer = std::get_if<int64_t>(&a.value)) return *integer;
  throw Misfit{fmt::format("{} takes an integer, found {}", what, KindOf(a))};
}

double RealOf(const Literal& a, std::string_view what) {
  if (IsNumber(a)) return NumberOf(a);
  throw Misfit{fmt::format("{} takes a number, found {}", what, KindOf(a))};
}

// Returns the number as an integer. Throws Misfit if it does not fit in 64 bits.
Literal AsInteger(double number) {
  constexpr double kLimit = 9.2e18;
  if (!(std::abs(number) < kLimit)) throw Misfit{"the result is no integer of 64 bits"};
  return {static_cast<int64_t>(number)};
}

// ---- functions ----------------------------------------------------------------------------------

// Returns the nearest multiple of the divisor that is at least the divisor and at least 90 % of the
// value: the channels of MobileNet (Sandler et al. 2018) and EfficientNet (Tan & Le 2019).
Literal MakeDivisible(const Arguments& a) {
  constexpr double kLeast = 0.9;
  const double value = RealOf(a[0], "make_divisible");
  const int64_t divisor = a.size() > 1 ? IntegerOf(a[1], "make_divisible") : 8;
  if (divisor < 1) throw Misfit{"make_divisible: the divisor must be positive"};
  const auto step = static_cast<double>(divisor);
  double nearest = std::max(step, std::floor(std::floor(value + step / 2) / step) * step);
  if (nearest < kLeast * value) nearest += step;
  return AsInteger(nearest);
}

template <class Better>
Literal Extreme(const Arguments& a, Better better) {
  const Arguments* items = &a;
  if (a.size() == 1) items = std::get_if<Literals>(&a[0].value);
  if (items == nullptr || items->empty()) throw Misfit{"min and max take at least one number"};
  const Literal* best = &items->front();
  for (const Literal& item : *items) {
    if (better(RealOf(item, "min and max"), RealOf(*best, "min and max"))) best = &item;
  }
  return *best;
}

Literal Length(const Arguments& a) {
  if (const auto* const list = std::get_if<Literals>(&a[0].value)) {
    return {static_cast<int64_t>(list->size())};
  }
  if (const auto* const text = std::get_if<std::string>(&a[0].value)) {
    return {static_cast<int64_t>(text->size())};
  }
  throw Misfit{fmt::format("len takes a list or a text, found {}", KindOf(a[0]))};
}

Literal Sum(const Arguments& a) {
  const auto* const list = std::get_if<Literals>(&a[0].value);
  if (list == nullptr) throw Misfit{fmt::format("sum takes a list, found {}", KindOf(a[0]))};
  double real = 0;
  bool integers = true;
  for (const Literal& item : *list) {
    real += RealOf(item, "sum");
    integers = integers && std::holds_alternative<int64_t>(item.value);
  }
  return integers ? AsInteger(real) : Literal{real};
}

Literal Absolute(const Arguments& a) {
  const auto* const integer = std::get_if<int64_t>(&a[0].value);
  if (integer == nullptr) return {std::abs(RealOf(a[0], "abs"))};
  return AsInteger(std::abs(static_cast<double>(*integer)));
}

constexpr size_t kAny = std::numeric_limits<size_t>::max();
constexpr std::array kFunctions = {
    LiteralFunction{"abs", 1, 1, Absolute},
    LiteralFunction{"ceil", 1, 1,
                    [](const Arguments& a) { return AsInteger(std::ceil(RealOf(a[0], "ceil"))); }},
    LiteralFunction{"float", 1, 1,
                    [](const Arguments& a) { return Literal{RealOf(a[0], "float")}; }},
    LiteralFunction{
        "floor", 1, 1,
        [](const Arguments& a) { return AsInteger(std::floor(RealOf(a[0], "floor"))); }},
    LiteralFunction{"int", 1, 1,
                    [](const Arguments& a) { return AsInteger(std::trunc(RealOf(a[0], "int"))); }},
    LiteralFunction{"len", 1, 1, Length},
    LiteralFunction{"make_divisible", 1, 2, MakeDivisible},
    LiteralFunction{"max", 1, kAny,
                    [](const Arguments& a) { return Extreme(a, std::greater<>()); }},
    LiteralFunction{"min", 1, kAny, [](const Arguments& a) { return Extreme(a, std::less<>()); }},
    LiteralFunction{
        "round", 1, 1,
        [](const Arguments& a) { return AsInteger(std::nearbyint(RealOf(a[0], "round"))); }},
    LiteralFunction{"str", 1, 1, [](const Arguments& a) { return Literal{TextOf(a[0])}; }},
    LiteralFunction{"sum", 1, 1, Sum},
};

// ---- operators ----------------------------------------------------------------------------------

int64_t FloorDivided(int64_t a, int64_t b) {
  if (b == 0) throw Misfit{"division by 0"};
  if (b == -1) {
    if (a == std::numeric_limits<int64_t>::min()) throw Misfit{"the result does not fit 64 bits"};
    return -a;
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Literal OfIntegers(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  if (op == "+") overflows = __builtin_add_overflow(a, b, &result);
  if (op == "-") overflows = __builtin_sub_overflow(a, b, &result);
  if (op == "*") overflows = __builtin_mul_overflow(a, b, &result);
  if (op == "//") result = FloorDivided(a, b);
  if (op == "%") result = a - FloorDivided(a, b) * b;
  if (op == "**") {
    const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
    return b < 0 ? Literal{power} : AsInteger(power);
  }
  if (overflows) throw Misfit{"the result is no integer of 64 bits"};
  return {result};
}

Literal OfReals(std::string_view op, double a, double b) {
  if (op == "+") return {a + b};
  if (op == "-") return {a - b};
  if (op == "*") return {a * b};
  if (op == "**") return {std::pow(a, b)};
  if (b == 0) throw Misfit{"division by 0"};
  if (op == "/") return {a / b};
  if (op == "//") return {std::floor(a / b)};
  return {a - std::floor(a / b) * b};
}

// Two booleans give a boolean; integers are combined bit by bit.
Literal OfBits(std::string_view op, const Literal& a, const Literal& b) {
  const auto* const truth_a = std::get_if<bool>(&a.value);
  const auto* const truth_b = std::get_if<bool>(&b.value);
  if (truth_a != nullptr && truth_b != nullptr) {
    if (op == "&") return {*truth_a && *truth_b};
    return {op == "|" ? *truth_a || *truth_b : *truth_a != *truth_b};
  }
  const auto* const x = std::get_if<int64_t>(&a.value);
  const auto* const y = std::get_if<int64_t>(&b.value);
  if (x == nullptr || y == nullptr) {
    throw Misfit{fmt::format("'{}' does not take {} and {}", op, KindOf(a), KindOf(b)),
                 "put comparisons beside it in parentheses"};
  }
  const auto left = static_cast<uint64_t>(*x);
  const auto right = static_cast<uint64_t>(*y);
  return {static_cast<int64_t>(op == "&" ? left & right : op == "|" ? left | right : left ^ right)};
}

}  // namespace

Literal Arithmetic(std::string_view op, const Literal& a, const Literal& b) {
  if (op == "&" || op == "|" || op == "^") return OfBits(op, a, b);
  const auto* const text_a = std::get_if<std::string>(&a.value);
  const auto* const text_b = std::get_if<std::string>(&b.value);
  if (op == "+" && text_a != nullptr && text_b != nullptr) return {*text_a + *text_b};
  const auto* const list_a = std::get_if<Literals>(&a.value);
  const auto* const list_b = std::get_if<Literals>(&b.value);
  if (op == "+" && list_a != nullptr && list_b != nullptr) {
    Literals joined = *list_a;
    joined.insert(joined.end(), list_b->begin(), list_b->end());
    return {std::move(joined)};
  }
  if (!IsNumber(a) || !IsNumber(b)) {
    throw Misfit{fmt::format("'{}' does not take {} and {}", op, KindOf(a), KindOf(b))};
  }
  const auto* const integer_a = std::get_if<int64_t>(&a.value);
  const auto* const integer_b = std::get_if<int64_t>(&b.value);
  if (op != "/" && integer_a != nullptr && integer_b != nullptr) {
    return OfIntegers(op, *integer_a, *integer_b);
  }
  return OfReals(op, NumberOf(a), NumberOf(b));
}

namespace {

bool AreEqual(const Literal& a, const Literal& b) {
  if (IsNumber(a) && IsNumber(b)) return NumberOf(a) == NumberOf(b);
  if (a.value.index() != b.value.index()) return false;
  if (const auto* const list = std::get_if<Literals>(&a.value)) {
    return std::ranges::equal(*list, std::get<Literals>(b.value), AreEqual);
  }
  if (const auto* const text = std::get_if<std::string>(&a.value)) {
    return *text == std::get<std::string>(b.value);
  }
  const auto* const truth = std::get_if<bool>(&a.value);
  return truth == nullptr || *truth == std::get<bool>(b.value);
}

bool Contains(const Literal& list, const Literal& item) {
  if (const auto* const text = std::get_if<std::string>(&list.value)) {
    const auto* const part = std::get_if<std::string>(&item.value);
    return part != nullptr && text->find(*part) != std::string::npos;
  }
  const auto* const items = std::get_if<Literals>(&list.value);
  if (items == nullptr) throw Misfit{fmt::format("'in' takes a list, found {}", KindOf(list))};
  return std::ranges::any_of(*items, [&](const Literal& each) { return AreEqual(each, item); });
}

}  // namespace

bool Compared(std::string_view op, const Literal& a, const Literal& b) {
  if (op == "==") return AreEqual(a, b);
  if (op == "!=") return !AreEqual(a, b);
  if (op == "in") return Contains(b, a);
  if (op == "not in") return !Contains(b, a);
  if (!IsNumber(a) || !IsNumber(b)) {
    throw Misfit{fmt::format("'{}' does not compare {} and {}", op, KindOf(a), KindOf(b))};
  }
  const double x = NumberOf(a);
  const double y = NumberOf(b);
  if (op == "<") return x < y;
  if (op == "<=") return x <= y;
  return op == ">" ? x > y : x >= y;
}

Literal Signed(std::string_view op, const Literal& a) {
  if (op == "-") return Arithmetic("-", {int64_t{0}}, a);
  if (op == "+" && IsNumber(a)) return a;
  const auto* const integer = std::get_if<int64_t>(&a.value);
  if (op == "~" && integer != nullptr) return {~*integer};
  throw Misfit{fmt::format("'{}' does not take {}", op, KindOf(a)),
               op == "~" ? "use 'not' to negate true or false" : ""};
}

// ---- items --------------------------------------------------------------------------------------

Literal ItemOf(const Literal& list, const Literal& index) {
  const auto* const items = std::get_if<Literals>(&list.value);
  const auto* const text = std::get_if<std::string>(&list.value);
  if (items == nullptr && text == nullptr) {
    throw Misfit{fmt::format("{} has no items", KindOf(list))};
  }
  const auto count = static_cast<int64_t>(items != nullptr ? items->size() : text->size());
  const int64_t named = IntegerOf(index, "an index");
  const int64_t i = named < 0 ? named + count : named;
  if (i < 0 || i >= count) {
    throw Misfit{fmt::format("item {} is out of range in a {} of {}", named,
                             items != nullptr ? "list" : "text", count)};
  }
  if (items != nullptr) return (*items)[static_cast<size_t>(i)];
  return {text->substr(static_cast<size_t>(i), 1)};
}

namespace {

// Returns the indices that begin:end:stride picks from `count` items, as Python's slice.indices
// does.
std::vector<size_t> Picked(std::span<const Literal> bounds, int64_t count) {
  const auto given = [&](size_t i) { return bounds[i].value.index() != 0; };
  const int64_t stride = given(2) ? IntegerOf(bounds[2], "a slice") : 1;
  if (stride == 0) throw Misfit{"the stride of a slice must not be 0"};
  const bool back = stride < 0;
  const auto bound = [&](size_t i, int64_t otherwise) {
    if (!given(i)) return otherwise;
    const int64_t named = IntegerOf(bounds[i], "a slice");
    const int64_t at = named < 0 ? named + count : named;
    return std::clamp<int64_t>(at, back ? -1 : 0, back ? count - 1 : count);
  };
  const int64_t begin = bound(0, back ? count - 1 : 0);
  const int64_t end = bound(1, back ? -1 : count);
  std::vector<size_t> picked;
  // Clamped to one item past the ends, so that a stride near the limits does not overflow.
  const int64_t step = std::clamp<int64_t>(stride, -count - 1, count + 1);
  for (int64_t i = begin; back ? i > end : i < end; i += step) {
    picked.push_back(static_cast<size_t>(i));
  }
  return picked;
}

}  // namespace

Literal PartOf(const Literal& list, std::span<const Literal> bounds) {
  if (const auto* const text = std::get_if<std::string>(&list.value)) {
    std::string part;
    for (const size_t i : Picked(bounds, static_cast<int64_t>(text->size()))) part += (*text)[i];
    return {std::move(part)};
  }
  const auto* const items = std::get_if<Literals>(&list.value);
  if (items == nullptr) throw Misfit{fmt::format("{} has no items", KindOf(list))};
  Literals part;
  for (const size_t i : Picked(bounds, static_cast<int64_t>(items->size()))) {
    part.push_back((*items)[i]);
  }
  return {std::move(part)};
}

// ---- functions by name --------------------------------------------------------------------------

std::span<const LiteralFunction> LiteralFunctions() { return kFunctions; }

const LiteralFunction* FindLiteralFunction(std::string_view name) {
  for (const LiteralFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

Literal Invoke(const LiteralFunction& function, const Literals& arguments) {
  if (arguments.size() < function.least || arguments.size() > function.most) {
    throw Misfit{fmt::format("{} does not take {} values", function.name, arguments.size())};
  }
  return function.call(arguments);
}

// ---- values -------------------------------------------------------------------------------------

bool IsTrue(const Literal& literal) {
  if (const auto* const truth = std::get_if<bool>(&literal.value)) return *truth;
  if (IsNumber(literal)) return NumberOf(literal) != 0;
  if (const auto* const text = std::get_if<std::string>(&literal.value)) return !text->empty();
  const auto* const list = std::get_if<Literals>(&literal.value);
  return list != nullptr && !list->empty();
}

namespace {

std::string RealText(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string TextOf(const Literal& literal) {
  if (const auto* const text = std::get_if<std::string>(&literal.value)) return *text;
  if (const auto* const truth = std::get_if<bool>(&literal.value)) return *truth ? "true" : "false";
  if (const auto* const integer = std::get_if<int64_t>(&literal.value)) {
    return std::to_string(*integer);
  }
  if (const auto* const real = std::get_if<double>(&literal.value)) return RealText(*real);
  const auto* const list = std::get_if<Literals>(&literal.value);
  if (list == nullptr) return "none";
  std::vector<std::string> items;
  for (const Literal& item : *list) items.push_back(TextOf(item));
  return "[" + Join(items, ", ") + "]";
}

}  // namespace tpuest::config
