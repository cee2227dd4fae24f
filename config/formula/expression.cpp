#include "config/formula/expression.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/base/text.h"

namespace tpuest::config {
namespace {

// Evaluates a formula over parameters; evaluates a part only if Python would.
class Evaluator {
 public:
  explicit Evaluator(const Parameters& parameters) : parameters_(parameters) {}

  Literal Value(const Expression& e) const {
    using Kind = Expression::Kind;
    switch (e.kind) {
      case Kind::kLiteral:
        return e.literal;
      case Kind::kName:
        return Parameter(e);
      case Kind::kList:
        return {Values(e.parts)};
      case Kind::kSign:
        return Sign(e);
      case Kind::kBinary:
        return Binary(e);
      case Kind::kCompare:
        return Comparison(e);
      case Kind::kAnd:
      case Kind::kOr: {
        Literal a = Value(e.parts[0]);
        return IsTrue(a) == (e.kind == Kind::kAnd) ? Value(e.parts[1]) : a;
      }
      case Kind::kConditional:
        return Value(e.parts[IsTrue(Value(e.parts[1])) ? 0 : 2]);
      case Kind::kCall:
        return Called(e);
      case Kind::kIndex:
        return Indexed(e);
      default:
        throw FormulaError{"a slice of a list has the form list[begin:end]", "", e.at, e.width};
    }
  }

  // Throws FormulaError for unknown names and functions.
  void CheckNames(const Expression& e) const {
    if (e.kind == Expression::Kind::kName) (void)Parameter(e);
    if (e.kind == Expression::Kind::kCall) (void)FunctionOf(e);
    for (const Expression& part : e.parts) CheckNames(part);
  }

 private:
  Literals Values(const std::vector<Expression>& parts) const {
    Literals values;
    for (const Expression& part : parts) values.push_back(Value(part));
    return values;
  }

  Literal Sign(const Expression& e) const {
    const Literal value = Value(e.parts[0]);
    if (e.text == "not") return {!IsTrue(value)};
    return AtExpression(e, [&] { return Signed(e.text, value); });
  }

  Literal Binary(const Expression& e) const {
    const Literal a = Value(e.parts[0]);
    const Literal b = Value(e.parts[1]);
    return AtExpression(e, [&] { return Arithmetic(e.text, a, b); });
  }

  Literal Comparison(const Expression& e) const {
    Literal a = Value(e.parts[0]);
    for (size_t i = 0; i < e.words.size(); ++i) {
      Literal b = Value(e.parts[i + 1]);
      if (!AtExpression(e, [&] { return Compared(e.words[i], a, b); })) return {false};
      a = std::move(b);
    }
    return {true};
  }

  Literal Indexed(const Expression& e) const {
    const Literal list = Value(e.parts[0]);
    const Expression& position = e.parts[1];
    if (e.parts.size() > 2) {
      throw FormulaError{"a list takes one index", "", e.at, e.width};
    }
    if (position.kind == Expression::Kind::kSlice) {
      const Literals bounds = Values(position.parts);
      return AtExpression(e, [&] { return PartOf(list, bounds); });
    }
    const Literal index = Value(position);
    return AtExpression(e, [&] { return ItemOf(list, index); });
  }

  Literal Called(const Expression& e) const {
    const LiteralFunction& function = FunctionOf(e);
    for (const std::string& word : e.words) {
      if (word.empty()) continue;
      throw FormulaError{fmt::format("{} takes only positional arguments", e.text), "", e.at,
                         e.width};
    }
    const Literals arguments = Values(e.parts);
    return AtExpression(e, [&] { return Invoke(function, arguments); });
  }

  [[nodiscard]] const Literal& Parameter(const Expression& e) const {
    const auto found = parameters_.find(e.text);
    if (found != parameters_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : parameters_) names.push_back(known);
    const std::optional<std::string> near = Nearest(e.text, names);
    throw FormulaError{fmt::format("unknown parameter '{}'", e.text),
                       near            ? fmt::format("did you mean '{}'?", *near)
                       : names.empty() ? ""
                                       : "there are: " + Join(names, ", "),
                       e.at, e.width};
  }

  static const LiteralFunction& FunctionOf(const Expression& e) {
    if (const LiteralFunction* const function = FindLiteralFunction(e.text)) return *function;
    std::vector<std::string> names;
    for (const LiteralFunction& function : LiteralFunctions()) names.emplace_back(function.name);
    const std::optional<std::string> near = Nearest(e.text, names);
    throw FormulaError{
        fmt::format("unknown function '{}'", e.text),
        near ? fmt::format("did you mean '{}'?", *near) : "there are: " + Join(names, ", "), e.at,
        e.width};
  }

  const Parameters& parameters_;
};

}  // namespace

Literal Evaluate(std::string_view text, const Parameters& parameters) {
  const Expression formula = ParseFormula(text);
  const Evaluator evaluator(parameters);
  evaluator.CheckNames(formula);
  return evaluator.Value(formula);
}

}  // namespace tpuest::config
