#include "core/nn/formula/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace tpuest::nn {

std::vector<Parameter> ParametersOf(std::string_view text) {
  std::vector<Parameter> parameters;
  if (text.empty()) return parameters;
  for (const std::string& part : Split(text, ',')) {
    const std::string one = part.substr(part.find_first_not_of(' '));
    const size_t equals = one.find('=');
    if (equals == std::string::npos) {
      parameters.push_back({one, std::nullopt});
    } else {
      parameters.push_back({one.substr(0, equals), one.substr(equals + 1)});
    }
  }
  return parameters;
}

Arguments::Arguments(Graph& graph, const Expression& call, const std::vector<Parameter>& parameters,
                     Operands values)
    : graph_(graph),
      call_(call),
      parameters_(parameters),
      bound_(parameters.size()),
      places_(parameters.size(), nullptr) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& word = call.words[i];
    const auto found = std::find(names.begin(), names.end(), word);
    const size_t to = word.empty() ? i : static_cast<size_t>(found - names.begin());
    if (to >= names.size() && !word.empty()) {
      const auto near = Nearest(word, names);
      FailAt(call.parts[i], fmt::format("{} has no argument '{}'", call.text, word),
             near ? fmt::format("did you mean '{}'?", *near) : "it takes " + Join(names, ", "));
    }
    if (to >= names.size()) {
      FailAt(call,
             fmt::format("{} takes {} arguments, found {}", call.text, names.size(), values.size()),
             "it takes " + Join(names, ", "));
    }
    if (places_[to] != nullptr) {
      FailAt(call.parts[i], fmt::format("{}: '{}' is given twice", call.text, names[to]));
    }
    bound_[to] = std::move(values[i]);
    places_[to] = &call.parts[i];
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (parameters[i].by_default || places_[i] != nullptr) continue;
    FailAt(call, fmt::format("{}: '{}' is missing", call.text, names[i]),
           "it takes " + Join(names, ", "));
  }
}

const Expression& Arguments::place(size_t i) const {
  return places_[i] != nullptr ? *places_[i] : call_;
}

void Arguments::Fail(size_t i, std::string message, std::string hint) const {
  FailAt(place(i), fmt::format("{}: {}", call_.text, message), std::move(hint));
}

Tensored Arguments::Tensor(size_t i, std::optional<DType> dtype) const {
  return BuiltAt(place(i), [&] { return ToTensor(graph_, bound_[i], dtype); });
}

std::vector<Tensored> Arguments::Alike(std::span<const size_t> which) const {
  return BuiltAt(call_, [&] {
    std::vector<const Operand*> operands;
    for (const size_t i : which) operands.push_back(&bound_[i]);
    std::vector<Tensored> tensors = OfOneType(graph_, operands, call_.text);
    (void)AlignRows(tensors);
    return tensors;
  });
}

std::vector<Tensored> Arguments::Items(size_t i) const {
  return BuiltAt(place(i), [&] {
    std::vector<Operand> made;
    if (const Literal* const literal = bound_[i].literal()) {
      const auto* const literals = std::get_if<Literals>(&literal->value);
      if (literals == nullptr) Fail(i, "takes a list of tensors, found " + Described(bound_[i]));
      for (const Literal& one : *literals) made.push_back({one});
    }
    const Operands* const list = bound_[i].list() != nullptr ? bound_[i].list() : &made;
    if (list->empty()) Fail(i, "takes a list of tensors, found " + Described(bound_[i]));
    std::vector<const Operand*> operands;
    for (const Operand& operand : *list) operands.push_back(&operand);
    return OfOneType(graph_, operands, call_.text);
  });
}

int64_t Arguments::Integer(size_t i, std::optional<int64_t> otherwise) const {
  if (!Has(i) && otherwise) return *otherwise;
  const Literal* const literal = bound_[i].literal();
  const auto* const integer = literal == nullptr ? nullptr : std::get_if<int64_t>(&literal->value);
  if (integer == nullptr) {
    Fail(i, fmt::format("'{}' must be an integer, found {}", name(i), Described(bound_[i])));
  }
  return *integer;
}

double Arguments::Number(size_t i, std::optional<double> otherwise) const {
  if (!Has(i) && otherwise) return *otherwise;
  const Literal* const literal = bound_[i].literal();
  if (literal == nullptr || !config::IsNumber(*literal)) {
    Fail(i, fmt::format("'{}' must be a number, found {}", name(i), Described(bound_[i])));
  }
  return config::NumberOf(*literal);
}

bool Arguments::Truth(size_t i, bool otherwise) const {
  if (!Has(i)) return otherwise;
  const Literal* const literal = bound_[i].literal();
  const auto* const truth = literal == nullptr ? nullptr : std::get_if<bool>(&literal->value);
  if (truth == nullptr) {
    Fail(i, fmt::format("'{}' must be true or false, found {}", name(i), Described(bound_[i])));
  }
  return *truth;
}

DType Arguments::Type(size_t i, std::optional<DType> otherwise) const {
  if (!Has(i) && otherwise) return *otherwise;
  std::optional<DType> dtype;
  if (const auto* const named = std::get_if<DType>(&bound_[i].is)) dtype = *named;
  const Literal* const literal = bound_[i].literal();
  const auto* const text = literal == nullptr ? nullptr : std::get_if<std::string>(&literal->value);
  if (text != nullptr) dtype = DTypeFromName(*text);
  const bool computes = dtype && *dtype != DType::kHalf && *dtype != DType::kResource;
  if (computes) return *dtype;
  Fail(i,
       fmt::format("'{}' must be a type, found {}", name(i),
                   text != nullptr ? Quoted(*text) : Described(bound_[i])),
       "float32, float64, bfloat16, int32, int64, bool, string, ...");
}

std::vector<int64_t> Arguments::Integers(size_t i) const {
  const Literal* const literal = bound_[i].literal();
  if (literal != nullptr) {
    if (const auto* const one = std::get_if<int64_t>(&literal->value)) return {*one};
    const auto* const list = std::get_if<Literals>(&literal->value);
    std::vector<int64_t> integers;
    for (const Literal& item : list != nullptr ? *list : Literals()) {
      const auto* const integer = std::get_if<int64_t>(&item.value);
      if (integer == nullptr) break;
      integers.push_back(*integer);
    }
    if (list != nullptr && integers.size() == list->size()) return integers;
  }
  Fail(i, fmt::format("'{}' must be a list of integers, found {}", name(i), Described(bound_[i])),
       "its value must be known before the graph runs");
}

int Arguments::AxisOf(size_t i, int64_t named, const Tensored& x, int extra) const {
  const Shape& shape = x.value.shape();
  const int batch = x.rows ? 1 : 0;
  if (!shape.known_rank()) Fail(i, "the number of axes of its input is not known");
  const int rank = shape.rank() - batch + extra;
  if (named < -rank || named >= rank) {
    Fail(i, fmt::format("axis {} is out of range for {} axes", named, rank));
  }
  return static_cast<int>(named < 0 ? named + rank : named) + batch;
}

int Arguments::Axis(size_t i, const Tensored& x, std::optional<int64_t> otherwise,
                    int extra) const {
  return AxisOf(i, Integer(i, otherwise), x, extra);
}

std::vector<int64_t> Arguments::Axes(size_t i, const Tensored& x) const {
  std::vector<int64_t> axes;
  if (Has(i)) {
    for (const int64_t named : Integers(i)) axes.push_back(AxisOf(i, named, x, 0));
    return axes;
  }
  if (!x.value.shape().known_rank()) Fail(i, "the number of axes of its input is not known");
  for (int64_t axis = x.rows ? 1 : 0; axis < x.value.shape().rank(); ++axis) axes.push_back(axis);
  return axes;
}

std::vector<FormulaRecord> AllRecords() {
  std::vector<FormulaRecord> all;
  for (const auto records :
       {MathFunctions(), ArrayFunctions(), NetworkFunctions(), TextFunctions()}) {
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

const FormulaRecord* FindRecord(std::string_view name) {
  for (const auto records :
       {MathFunctions(), ArrayFunctions(), NetworkFunctions(), TextFunctions()}) {
    for (const FormulaRecord& record : records) {
      const std::vector<std::string> names = Split(record.names, ' ');
      if (std::find(names.begin(), names.end(), name) != names.end()) return &record;
    }
  }
  return nullptr;
}

}  // namespace tpuest::nn
