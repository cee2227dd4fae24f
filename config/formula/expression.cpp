#include "config/formula/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/text.h"

namespace tpuest::config {
namespace {

constexpr size_t kLongestFormula = 4096;
constexpr int kDeepestFormula = 64;

using Arguments = std::vector<Literal>;

bool IsNumber(const Literal& a) {
  return std::holds_alternative<int64_t>(a.value) || std::holds_alternative<double>(a.value);
}

double NumberOf(const Literal& a) {
  const auto* const integer = std::get_if<int64_t>(&a.value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(a.value);
}

std::string KindOf(const Literal& a) {
  constexpr std::array<std::string_view, 6> kKinds = {"none",     "true or false", "an integer",
                                                      "a number", "a text",        "a list"};
  return std::string(kKinds.at(a.value.index()));
}

// An operand or an argument that does not fit: the caller knows the place.
struct Misfit {
  std::string message;
};

int64_t IntegerOf(const Literal& a, std::string_view what) {
  if (const auto* const integer = std::get_if<int64_t>(&a.value)) return *integer;
  throw Misfit{fmt::format("{} takes an integer, found {}", what, KindOf(a))};
}

double RealOf(const Literal& a, std::string_view what) {
  if (IsNumber(a)) return NumberOf(a);
  throw Misfit{fmt::format("{} takes a number, found {}", what, KindOf(a))};
}

// The number as an integer. Throws Misfit where it is none that 64 bits hold.
Literal AsInteger(double number) {
  constexpr double kLimit = 9.2e18;
  if (!(std::abs(number) < kLimit)) throw Misfit{"the result is no integer of 64 bits"};
  return {static_cast<int64_t>(number)};
}

// ---- functions ----------------------------------------------------------------------------------

// The nearest multiple of the divisor, at least the divisor and not below 90 % of the value: the
// channels of MobileNet (Sandler et al. 2018) and EfficientNet (Tan & Le 2019).
Literal MakeDivisible(const Arguments& a) {
  constexpr double kLeast = 0.9;
  const double value = RealOf(a[0], "make_divisible");
  const int64_t divisor = a.size() > 1 ? IntegerOf(a[1], "make_divisible") : 8;
  if (divisor < 1) throw Misfit{"make_divisible takes a positive divisor"};
  const auto step = static_cast<double>(divisor);
  double nearest = std::max(step, std::floor(std::floor(value + step / 2) / step) * step);
  if (nearest < kLeast * value) nearest += step;
  return AsInteger(nearest);
}

template <class Better>
Literal Extreme(const Arguments& a, Better better) {
  const Arguments* items = &a;
  if (a.size() == 1) items = std::get_if<Literals>(&a[0].value);
  if (items == nullptr || items->empty()) throw Misfit{"min and max take numbers"};
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

struct Function {
  std::string_view name;
  size_t least = 1;
  size_t most = 1;
  Literal (*call)(const Arguments&);
};

constexpr size_t kAny = std::numeric_limits<size_t>::max();
constexpr std::array kFunctions = {
    Function{"abs", 1, 1, Absolute},
    Function{"ceil", 1, 1,
             [](const Arguments& a) { return AsInteger(std::ceil(RealOf(a[0], "ceil"))); }},
    Function{"float", 1, 1, [](const Arguments& a) { return Literal{RealOf(a[0], "float")}; }},
    Function{"floor", 1, 1,
             [](const Arguments& a) { return AsInteger(std::floor(RealOf(a[0], "floor"))); }},
    Function{"int", 1, 1,
             [](const Arguments& a) { return AsInteger(std::trunc(RealOf(a[0], "int"))); }},
    Function{"len", 1, 1, Length},
    Function{"make_divisible", 1, 2, MakeDivisible},
    Function{"max", 1, kAny, [](const Arguments& a) { return Extreme(a, std::greater<>()); }},
    Function{"min", 1, kAny, [](const Arguments& a) { return Extreme(a, std::less<>()); }},
    Function{"round", 1, 1,
             [](const Arguments& a) { return AsInteger(std::nearbyint(RealOf(a[0], "round"))); }},
    Function{"str", 1, 1, [](const Arguments& a) { return Literal{TextOf(a[0])}; }},
    Function{"sum", 1, 1, Sum},
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

Literal Arithmetic(std::string_view op, const Literal& a, const Literal& b) {
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

// ---- reading ------------------------------------------------------------------------------------

// Reads and evaluates in one go, the loosest operator first.
class FormulaReader {
 public:
  FormulaReader(std::string_view text, const Parameters& parameters)
      : text_(text), parameters_(parameters) {}

  Literal Run() {
    if (text_.size() > kLongestFormula) Fail("a formula has at most 4096 bytes", "", 0);
    Literal result = Conditional();
    SkipSpace();
    if (at_ < text_.size()) {
      Fail(fmt::format("'{}' does not go on a formula", text_.substr(at_, 1)), "", at_);
    }
    return result;
  }

 private:
  class Deeper {
   public:
    explicit Deeper(FormulaReader& reader) : reader_(reader) {
      if (++reader_.depth_ > kDeepestFormula) reader_.Fail("nested too deeply", "", reader_.at_);
    }
    ~Deeper() { --reader_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    FormulaReader& reader_;
  };

  [[noreturn]] void Fail(std::string message, std::string hint, size_t at, size_t width = 1) const {
    throw FormulaError{std::move(message), std::move(hint), at, width};
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  static bool IsLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  // True if the word or the sign stands next; it is then passed over.
  bool Take(std::string_view sign) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(sign)) return false;
    const size_t end = at_ + sign.size();
    const bool is_word = IsLetter(sign.front());
    if (is_word && end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) {
      return false;
    }
    at_ = end;
    return true;
  }
  // The first of the signs that stands next.
  template <size_t n>
  std::string_view TakeOne(const std::array<std::string_view, n>& signs) {
    for (const std::string_view sign : signs) {
      if (Take(sign)) return sign;
    }
    return {};
  }
  void Expect(std::string_view sign) {
    if (Take(sign)) return;
    Fail(at_ < text_.size() ? fmt::format("expected '{}', found '{}'", sign, text_.substr(at_, 1))
                            : fmt::format("expected '{}' before the end", sign),
         "", at_);
  }

  // Calls f; what does not fit is a fault of the operator or the name at `at`.
  template <class F>
  auto At(size_t at, size_t width, F f) const {
    try {
      return f();
    } catch (const Misfit& misfit) {
      Fail(misfit.message, "", at, width);
    }
  }

  Literal Conditional() {
    const Deeper deeper(*this);
    Literal value = Or();
    if (!Take("if")) return value;
    const bool holds = IsTrue(Or());
    Expect("else");
    Literal other = Conditional();
    return holds ? value : other;
  }

  Literal Or() {
    Literal a = And();
    while (Take("or")) {
      Literal b = And();
      if (!IsTrue(a)) a = std::move(b);
    }
    return a;
  }
  Literal And() {
    Literal a = Not();
    while (Take("and")) {
      Literal b = Not();
      if (IsTrue(a)) a = std::move(b);
    }
    return a;
  }
  Literal Not() {
    const Deeper deeper(*this);
    if (Take("not")) return {!IsTrue(Not())};
    return Comparison();
  }

  Literal Comparison() {
    constexpr std::array<std::string_view, 7> kSigns = {"==", "!=", "<=", ">=", "<", ">", "in"};
    Literal a = Sums();
    SkipSpace();
    const size_t at = at_;
    std::string_view op = TakeOne(kSigns);
    if (op.empty() && Take("not")) {
      Expect("in");
      op = "not in";
    }
    if (op.empty()) return a;
    const Literal b = Sums();
    return {At(at, op.size(), [&] { return Compared(op, a, b); })};
  }

  Literal Sums() {
    return Chain(std::array<std::string_view, 2>{"+", "-"}, [&] { return Products(); });
  }
  Literal Products() {
    return Chain(std::array<std::string_view, 4>{"//", "/", "%", "*"}, [&] { return Signed(); });
  }
  template <size_t n, class Next>
  Literal Chain(const std::array<std::string_view, n>& signs, Next next) {
    Literal a = next();
    for (;;) {
      SkipSpace();
      const size_t at = at_;
      const std::string_view op = TakeOne(signs);
      if (op.empty()) return a;
      const Literal b = next();
      a = At(at, op.size(), [&] { return Arithmetic(op, a, b); });
    }
  }

  Literal Signed() {
    const Deeper deeper(*this);
    SkipSpace();
    const size_t at = at_;
    if (Take("-")) {
      const Literal value = Signed();
      return At(at, 1, [&] { return Arithmetic("-", {int64_t{0}}, value); });
    }
    return Power();
  }
  Literal Power() {
    Literal base = Indexed();
    SkipSpace();
    const size_t at = at_;
    if (!Take("**")) return base;
    const Literal exponent = Signed();
    return At(at, 2, [&] { return Arithmetic("**", base, exponent); });
  }

  Literal Indexed() {
    Literal value = Primary();
    for (;;) {
      SkipSpace();
      const size_t at = at_;
      if (!Take("[")) return value;
      const Literal index = Conditional();
      Expect("]");
      value = At(at, 1, [&] { return Item(value, index); });
    }
  }
  static Literal Item(const Literal& list, const Literal& index) {
    const auto* const items = std::get_if<Literals>(&list.value);
    if (items == nullptr) throw Misfit{fmt::format("{} has no items", KindOf(list))};
    const auto count = static_cast<int64_t>(items->size());
    const int64_t named = IntegerOf(index, "an index");
    const int64_t i = named < 0 ? named + count : named;
    if (i < 0 || i >= count) {
      throw Misfit{fmt::format("there is no item {} in a list of {}", named, count)};
    }
    return (*items)[static_cast<size_t>(i)];
  }

  Literal Primary() {
    SkipSpace();
    if (at_ >= text_.size()) Fail("a value is missing at the end", "", at_);
    const char c = text_[at_];
    if (Take("(")) {
      Literal value = Conditional();
      Expect(")");
      return value;
    }
    if (Take("[")) return {Items("]")};
    if (c == '\'' || c == '"') return Text(c);
    if (IsDigit(c) || c == '.') return Number();
    if (IsLetter(c)) return Name();
    Fail(fmt::format("a value cannot start with '{}'", text_.substr(at_, 1)), "", at_);
  }

  // The values up to the closing sign, parted by commas.
  Literals Items(std::string_view end) {
    Literals items;
    while (!Take(end)) {
      if (!items.empty()) {
        Expect(",");
        if (Take(end)) break;
      }
      items.push_back(Conditional());
    }
    return items;
  }

  Literal Text(char quote) {
    const size_t begin = at_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) Fail("the quote has no end", "", at_);
    at_ = end + 1;
    return {std::string(text_.substr(begin, end - begin))};
  }

  Literal Number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    int64_t integer = 0;
    const auto whole = std::from_chars(begin, end, integer);
    double real = 0;
    const auto any = std::from_chars(begin, end, real);
    if (any.ec != std::errc()) Fail("this is no number", "", at_);
    const bool is_integer = whole.ec == std::errc() && whole.ptr == any.ptr;
    at_ += static_cast<size_t>(any.ptr - begin);
    if (is_integer) return {integer};
    return {real};
  }

  Literal Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (IsLetter(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "true" || name == "True") return {true};
    if (name == "false" || name == "False") return {false};
    if (name == "none" || name == "None" || name == "null") return {};
    if (Take("(")) return Call(name, begin);
    const auto found = parameters_.find(name);
    if (found != parameters_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : parameters_) names.push_back(known);
    const std::optional<std::string> near = Nearest(name, names);
    Fail(fmt::format("there is no parameter '{}'", name),
         near            ? fmt::format("did you mean '{}'?", *near)
         : names.empty() ? ""
                         : "there are: " + Join(names, ", "),
         begin, name.size());
  }

  Literal Call(std::string_view name, size_t begin) {
    const Literals arguments = Items(")");
    std::vector<std::string> names;
    for (const Function& function : kFunctions) {
      names.emplace_back(function.name);
      if (function.name != name) continue;
      if (arguments.size() < function.least || arguments.size() > function.most) {
        Fail(fmt::format("{} does not take {} values", name, arguments.size()), "", begin,
             name.size());
      }
      return At(begin, name.size(), [&] { return function.call(arguments); });
    }
    const std::optional<std::string> near = Nearest(name, names);
    Fail(fmt::format("there is no function '{}'", name),
         near ? fmt::format("did you mean '{}'?", *near) : "there are: " + Join(names, ", "), begin,
         name.size());
  }

  std::string_view text_;
  const Parameters& parameters_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string RealText(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

Literal Evaluate(std::string_view text, const Parameters& parameters) {
  return FormulaReader(text, parameters).Run();
}

bool IsTrue(const Literal& literal) {
  if (const auto* const truth = std::get_if<bool>(&literal.value)) return *truth;
  if (IsNumber(literal)) return NumberOf(literal) != 0;
  if (const auto* const text = std::get_if<std::string>(&literal.value)) return !text->empty();
  const auto* const list = std::get_if<Literals>(&literal.value);
  return list != nullptr && !list->empty();
}

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
