#include "core/nn/formula/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/nn/formula/call.h"
#include "core/nn/formula/operators.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

using Kind = Expression::Kind;

// The modules under which TensorFlow and NumPy have functions.
constexpr std::array<std::string_view, 9> kModules = {
    "tf.", "np.", "math.", "nn.", "strings.", "keras.", "k.", "backend.", "activations."};

// "tf.math.log1p" -> "log1p".
std::string_view Bare(std::string_view name) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view module : kModules) {
      if (!name.starts_with(module) || name.size() == module.size()) continue;
      name.remove_prefix(module.size());
      found = true;
    }
  }
  return name;
}

std::optional<Operand> Constant(std::string_view text) {
  const std::string_view name = Bare(text);
  if (name == "nan") return Operand{Literal{std::numeric_limits<double>::quiet_NaN()}};
  if (name == "inf") return Operand{Literal{std::numeric_limits<double>::infinity()}};
  if (name == "pi") return Operand{Literal{std::numbers::pi}};
  if (name == "e") return Operand{Literal{std::numbers::e}};
  if (name == "newaxis") return Operand{Literal{}};
  if (const auto dtype = DTypeFromName(name)) return Operand{*dtype};
  return std::nullopt;
}

std::vector<std::string> TypeNames() {
  return {"float32", "float64", "bfloat16", "int8",   "uint8",  "int16", "uint16",
          "int32",   "int64",   "uint32",   "uint64", "string", "bool"};
}

using FormulaArguments = std::map<std::string, Operand, std::less<>>;

// Finds what the names of a formula stand for.
class Scope {
 public:
  // `arguments`: of a function that is a formula. `registry` and `names` outlive it.
  Scope(const OpRegistry& registry, const FormulaNames& names, FormulaArguments arguments)
      : registry_(registry), names_(names), arguments_(std::move(arguments)) {}

  // True if the names stand for rows of a batch.
  [[nodiscard]] bool rows() const { return names_.rows; }

  [[nodiscard]] Operand Named(const Expression& e) const {
    if (const auto found = arguments_.find(e.text); found != arguments_.end()) return found->second;
    if (const auto found = names_.values.find(e.text); found != names_.values.end()) {
      return {Tensored{found->second, names_.rows}};
    }
    if (const auto found = names_.lists.find(e.text); found != names_.lists.end()) {
      Operands list;
      for (const Value value : found->second) list.push_back({Tensored{value, names_.rows}});
      return {std::move(list)};
    }
    if (names_.groups.contains(e.text)) {
      FailAt(e, fmt::format("'{}' is several tensors", e.text),
             fmt::format("{}['NAME'] selects one of them", e.text));
    }
    if (auto constant = Constant(e.text)) return *std::move(constant);
    std::optional<std::string> near = Nearest(e.text, KnownNames());
    if (!near) near = Nearest(Bare(e.text), TypeNames());
    const bool function = IsFunction(Bare(e.text));
    FailAt(e, fmt::format("there is no '{}'", e.text),
           function ? fmt::format("the function is {}(...)", e.text)
           : near   ? fmt::format("did you mean '{}'?", *near)
                    : "there are: " + Join(KnownNames(), ", "));
  }

  // features['x'] of a group; nullopt: it is none.
  [[nodiscard]] std::optional<Operand> OfGroup(const Expression& e) const {
    const Expression& what = e.parts[0];
    if (what.kind != Kind::kName || names_.values.contains(what.text)) return std::nullopt;
    const auto group = names_.groups.find(what.text);
    if (group == names_.groups.end()) return std::nullopt;
    const Expression& key = e.parts[1];
    const auto* const text = std::get_if<std::string>(&key.literal.value);
    if (e.parts.size() != 2 || key.kind != Kind::kLiteral || text == nullptr) {
      FailAt(e, fmt::format("{}['NAME'] selects one of its tensors", what.text));
    }
    const auto found = group->second.find(*text);
    if (found != group->second.end()) return Operand{Tensored{found->second, names_.rows}};
    std::vector<std::string> names;
    for (const auto& [name, value] : group->second) names.push_back(name);
    const auto near = Nearest(*text, names);
    FailAt(key, fmt::format("there is no {} in {}", Quoted(*text), what.text),
           near ? fmt::format("did you mean '{}'?", *near) : "there are: " + Join(names, ", "));
  }

 private:
  [[nodiscard]] bool IsFunction(std::string_view name) const {
    return FindRecord(name) != nullptr || FindWritten(name) != nullptr ||
           FindOp(registry_, name) != nullptr;
  }

  [[nodiscard]] std::vector<std::string> KnownNames() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : names_.values) names.push_back(name);
    for (const auto& [name, list] : names_.lists) names.push_back(name);
    for (const auto& [name, group] : names_.groups) names.push_back(name);
    return names;
  }

  const OpRegistry& registry_;
  const FormulaNames& names_;
  const FormulaArguments arguments_;
};

// Python's own function of Python's values.
std::optional<Operand> OfLiterals(const Expression& e, const Operands& values) {
  const config::LiteralFunction* const function = config::FindLiteralFunction(e.text);
  if (function == nullptr) return std::nullopt;
  Literals literals;
  for (size_t i = 0; i < values.size(); ++i) {
    const Literal* const literal = values[i].literal();
    if (literal == nullptr || !e.words[i].empty()) return std::nullopt;
    literals.push_back(*literal);
  }
  return BuiltAt(e, [&]() -> Operand { return {config::Invoke(*function, literals)}; });
}

// An item of a list, or a part of a list of Python's values.
Operand OfList(const Expression& e, const Operand& what,
               const std::vector<IndexPosition>& positions) {
  Literals bounds;
  for (const Operand& value : positions[0].values) {
    if (const Literal* const literal = value.literal()) bounds.push_back(*literal);
  }
  if (positions.size() != 1 || bounds.size() != positions[0].values.size()) {
    FailAt(e, "a list takes a single integer index", "stack(list) makes it a tensor");
  }
  const bool slices = positions[0].e->kind == Kind::kSlice;
  if (const Literal* const literal = what.literal()) {
    return BuiltAt(e, [&]() -> Operand {
      return {slices ? config::PartOf(*literal, bounds) : config::ItemOf(*literal, bounds[0])};
    });
  }
  const Operands* const list = what.list();
  const auto* const i = std::get_if<int64_t>(&bounds[0].value);
  if (list == nullptr || i == nullptr || slices) {
    FailAt(e, fmt::format("{} does not have this item", Described(what)));
  }
  const auto count = static_cast<int64_t>(list->size());
  const int64_t at = *i < 0 ? *i + count : *i;
  if (at < 0 || at >= count) {
    FailAt(e, fmt::format("there is no item {} in a list of {}", *i, count));
  }
  return (*list)[static_cast<size_t>(at)];
}

std::vector<std::string> FunctionNames(const OpRegistry& registry) {
  std::vector<std::string> names = OpNames(registry);
  for (const WrittenFunction& written : WrittenFunctions()) names.emplace_back(written.name);
  for (const FormulaRecord& record : AllRecords()) {
    for (const std::string& name : Split(record.names, ' ')) names.push_back(name);
  }
  return names;
}

// Builds the nodes of one formula.
class FormulaBuilder {
 public:
  FormulaBuilder(Graph& graph, const FormulaNames& names, FormulaArguments arguments = {})
      : graph_(graph), operators_(graph), scope_(graph.registry(), names, std::move(arguments)) {}

  Operand Build(const Expression& e) {
    switch (e.kind) {
      case Kind::kLiteral:
        return {e.literal};
      case Kind::kName:
        return scope_.Named(e);
      case Kind::kList:
        return Listed(e);
      case Kind::kSign:
        return operators_.Sign(e, Build(e.parts[0]));
      case Kind::kBinary:
        return operators_.Pair(e, e.text, Build(e.parts[0]), Build(e.parts[1]));
      case Kind::kCompare:
        return Comparison(e);
      case Kind::kAnd:
      case Kind::kOr:
        return Logic(e);
      case Kind::kConditional:
        return Conditional(e);
      case Kind::kCall:
        return Called(e);
      case Kind::kIndex:
        return Index(e);
      default:
        FailAt(e, "a slice is only allowed in brackets");
    }
  }

  // The formula's value as one tensor with a batch axis if there is one.
  Value Result(const Expression& e) {
    const Operand operand = Build(e);
    if (operand.list() != nullptr) FailAt(e, "this is a list of several tensors", "x[0] picks one");
    const Tensored tensor = BuiltAt(e, [&] { return ToTensor(graph_, operand); });
    if (scope_.rows() && !tensor.rows) {
      FailAt(e, "this is the same for every example", "it reads no column");
    }
    return tensor.value;
  }

 private:
  Operand Listed(const Expression& e) {
    Operands parts;
    Literals literals;
    for (const Expression& part : e.parts) {
      parts.push_back(Build(part));
      if (const Literal* const literal = parts.back().literal()) literals.push_back(*literal);
    }
    if (literals.size() == parts.size()) return {Literal{std::move(literals)}};
    return {std::move(parts)};
  }

  Operand Logic(const Expression& e) {
    const Operand a = Build(e.parts[0]);
    const Operand b = Build(e.parts[1]);
    return operators_.Logic(e, a, b);
  }

  Operand Comparison(const Expression& e) {
    Operand a = Build(e.parts[0]);
    std::optional<Operand> all;
    for (size_t i = 0; i < e.words.size(); ++i) {
      Operand b = Build(e.parts[i + 1]);
      Operand one = operators_.Compare(e, e.words[i], a, b);
      all = all ? operators_.Both(e, *all, one) : one;
      a = std::move(b);
    }
    return *all;
  }

  Operand Conditional(const Expression& e) {
    const Operand condition = Build(e.parts[1]);
    if (const Literal* const literal = condition.literal()) {
      return Build(e.parts[config::IsTrue(*literal) ? 0 : 2]);
    }
    if (!IsTruth(condition)) {
      FailAt(e, fmt::format("'if' takes a bool value, found {}", Described(condition)),
             "a comparison gives one");
    }
    const Operand a = Build(e.parts[0]);
    const Operand b = Build(e.parts[2]);
    return BuiltAt(e, [&]() -> Operand {
      std::vector<Tensored> all = OfOneType(graph_, {&a, &b}, "'if'");
      all.insert(all.begin(), *condition.tensor());
      const bool rows = AlignRows(all);
      return {Tensored{ops::SelectV2(all[0].value, all[1].value, all[2].value), rows}};
    });
  }

  Operand Called(const Expression& e) {
    Operands values;
    for (const Expression& part : e.parts) values.push_back(Build(part));
    if (auto folded = OfLiterals(e, values)) return *std::move(folded);
    const std::string_view name = Bare(e.text);
    // tf.split is not strings.split.
    const FormulaRecord* const whole = FindRecord(e.text);
    if (const FormulaRecord* const record = whole != nullptr ? whole : FindRecord(name)) {
      const std::vector<Parameter> parameters = ParametersOf(record->parameters);
      const Arguments arguments(graph_, e, parameters, std::move(values));
      return BuiltAt(e, [&] { return record->build(arguments); });
    }
    if (const WrittenFunction* const written = FindWritten(name)) {
      const std::vector<Parameter> parameters = ParametersOf(written->parameters);
      return Written(e, *written, parameters, Arguments(graph_, e, parameters, std::move(values)));
    }
    if (const RegisteredOp* const op = FindOp(graph_.registry(), name)) {
      const std::vector<Parameter> parameters = ParametersOf(*op);
      const Arguments arguments(graph_, e, parameters, std::move(values));
      return CallOp(*op, arguments);
    }
    if (name == "float" || name == "int" || name == "bool") {
      FailAt(e, fmt::format("{} takes a Python number", name),
             fmt::format("cast(x, {}) converts tensors", name == "float" ? "float32"
                                                         : name == "int" ? "int32"
                                                                         : "bool"));
    }
    RefuseByName(e, name);
    const std::optional<std::string> near = Nearest(name, FunctionNames(graph_.registry()));
    FailAt(e, fmt::format("there is no function '{}'", e.text),
           near ? fmt::format("did you mean '{}'?", *near) : "docs/formulas.md lists them");
  }
  // A function's formula, of the arguments by their parameters' names; its faults are the call's.
  Operand Written(const Expression& e, const WrittenFunction& written,
                  const std::vector<Parameter>& parameters, const Arguments& arguments) {
    const FormulaNames none{.rows = scope_.rows()};
    FormulaArguments given;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& parameter = parameters[i];
      const bool is_default = !arguments.Has(i) && parameter.by_default;
      given[parameter.name] =
          is_default ? Build(config::ParseFormula(*parameter.by_default)) : arguments.at(i);
    }
    FormulaBuilder inner(graph_, none, std::move(given));
    try {
      return inner.Build(config::ParseFormula(written.formula));
    } catch (const FormulaError& fault) {
      FailAt(e, fmt::format("{}: {}", e.text, fault.message), fault.hint);
    }
  }

  Operand Index(const Expression& e) {
    if (auto member = scope_.OfGroup(e)) return *std::move(member);
    const Operand what = Build(e.parts[0]);
    std::vector<IndexPosition> positions;
    for (size_t i = 1; i < e.parts.size(); ++i) {
      IndexPosition position{.e = &e.parts[i]};
      if (e.parts[i].kind == Kind::kSlice) {
        for (const Expression& bound : e.parts[i].parts) position.values.push_back(Build(bound));
      } else if (e.parts[i].kind == Kind::kEllipsis) {
        position.values.push_back({Literal{}});
      } else {
        position.values.push_back(Build(e.parts[i]));
      }
      positions.push_back(std::move(position));
    }
    if (const Tensored* const tensor = what.tensor()) return Indexed(e, *tensor, positions);
    if (const Parts* const parts = what.parts()) return PartsIndexed(e, *parts, positions);
    return OfList(e, what, positions);
  }

  Graph& graph_;
  const Operators operators_;
  const Scope scope_;
};

void Collect(const Expression& e, std::set<std::string>& names) {
  if (e.kind == Kind::kName) names.insert(e.text);
  for (const Expression& part : e.parts) Collect(part, names);
}

// Calls f(); a FormulaError from it is an Error at the place in the formula.
template <class F>
auto InFormula(const Formula& formula, F f) {
  try {
    return f();
  } catch (const FormulaError& error) {
    const int width = formula.verbatim ? static_cast<int>(error.width) : 1;
    throw Error(Code::kUsage, std::vector<Fault>{{error.message, error.hint, "",
                                                  PlaceIn(formula, error.at), width}});
  }
}

}  // namespace

Value BuildFormula(Graph& graph, const Formula& formula, const FormulaNames& names) {
  return InFormula(formula, [&] {
    return FormulaBuilder(graph, names).Result(config::ParseFormula(formula.text));
  });
}

void CheckFormula(const Formula& formula) {
  InFormula(formula, [&] { (void)config::ParseFormula(formula.text); });
}

std::vector<std::string> NamesIn(const Formula& formula) {
  std::set<std::string> names;
  InFormula(formula, [&] { Collect(config::ParseFormula(formula.text), names); });
  return {names.begin(), names.end()};
}

std::vector<FormulaFunction> FormulaFunctions(const OpRegistry& registry) {
  std::vector<FormulaFunction> functions;
  for (const FormulaRecord& record : AllRecords()) {
    functions.push_back({std::string(record.names), std::string(record.parameters)});
  }
  for (const WrittenFunction& written : WrittenFunctions()) {
    functions.push_back({std::string(written.name), std::string(written.parameters)});
  }
  std::vector<std::string> names = OpNames(registry);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    const RegisteredOp* const op = FindOp(registry, name);
    if (op == nullptr || FindRecord(name) != nullptr || FindWritten(name) != nullptr) continue;
    std::vector<std::string> parameters;
    for (const Parameter& parameter : ParametersOf(*op)) {
      parameters.push_back(parameter.by_default ? parameter.name + "=" + *parameter.by_default
                                                : parameter.name);
    }
    functions.push_back({name, Join(parameters, ", ")});
  }
  return functions;
}

}  // namespace tpuest::nn
