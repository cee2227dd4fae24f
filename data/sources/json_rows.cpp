#include "data/sources/json_rows.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/whole_number.h"
#include "core/tensor/limits.h"
#include "data/literal.h"

namespace tpuest::data {
namespace {

using Kind = JsonScanner::Kind;

// The values of one column in one row.
struct JsonValues {
  std::vector<int64_t> numbers;
  std::vector<float> floats;
  std::vector<std::string_view> texts;
  bool is_there = false;

  void Clear() {
    numbers.clear();
    floats.clear();
    texts.clear();
    is_there = false;
  }
};

// row.columns point into it.
struct JsonState final : Row::State {
  std::vector<JsonValues> columns;
  std::string unescaped;
  std::string key;
};

bool ParseFloat(std::string_view word, float& value) {
  if (word == "NaN") value = std::numeric_limits<float>::quiet_NaN();
  if (word == "Infinity") value = std::numeric_limits<float>::infinity();
  if (word == "-Infinity") value = -std::numeric_limits<float>::infinity();
  if (word == "NaN" || word == "Infinity" || word == "-Infinity") return true;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = fast_float::from_chars(word.data(), end, value);
  if (rest != end || word.empty()) return false;
  if (error != std::errc() && error != std::errc::result_out_of_range) return false;
  return std::isfinite(value);
}

DType JsonType(const std::string& name, const std::string& key) {
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype == DType::kString || dtype == DType::kFloat || dtype == DType::kInt64) return *dtype;
  throw Error(Code::kUsage, fmt::format("dtype is '{}'; expected string, int64 or float32", name))
      .Key(key + ".dtype");
}

// A tensor of `shape` from that many values, or from one value for all elements.
Tensor Filled(const Raw& raw, DType dtype, const Shape& shape, const std::string& key) {
  const Tensor given = ParseLiteral(raw, key).As(dtype, key);
  if (given.elements() == shape.elements()) return given.Reshaped(shape);
  if (given.elements() != 1) {
    throw Error(Code::kUsage,
                fmt::format("default_value has {} values; expected 1, or {} for shape {}",
                            given.elements(), shape.elements(), shape.Text()))
        .Key(key);
  }
  const auto n = static_cast<size_t>(shape.elements());
  if (dtype == DType::kString) {
    return Tensor::Strings(shape, std::vector<std::string>(n, std::string(given.strings()[0])));
  }
  Tensor all(dtype, shape);
  if (dtype == DType::kFloat) {
    std::fill_n(all.data<float>(), n, given.data<float>()[0]);
  } else {
    std::fill_n(all.data<int64_t>(), n, given.data<int64_t>()[0]);
  }
  return all;
}

std::string_view Expected(DType dtype) {
  if (dtype == DType::kString) return "a text (string)";
  return dtype == DType::kFloat ? "a number (float32)" : "a whole number (int64)";
}

std::string KindName(Kind kind) {
  switch (kind) {
    case Kind::kObject:
      return "an object";
    case Kind::kList:
      return "a list";
    case Kind::kText:
      return "a text";
    case Kind::kTruth:
      return "true or false";
    case Kind::kNull:
      return "null";
    case Kind::kNumber:
      break;
  }
  return "a number";
}

std::string TypeHint(const JsonColumn& column) {
  return column.is_inferred
             ? "the type was inferred from the first rows; set it with features or raise "
               "num_rows_for_inference"
             : "";
}

bool AddNumber(std::string_view word, DType dtype, JsonValues& values) {
  std::optional<int64_t> whole = WholeNumber<int64_t>(word);
  if (word == "true" || word == "false") whole = word == "true" ? 1 : 0;
  if (dtype == DType::kInt64) {
    if (whole) values.numbers.push_back(*whole);
    return whole.has_value();
  }
  float value = whole ? static_cast<float>(*whole) : 0;
  if (!whole && !ParseFloat(word, value)) return false;
  values.floats.push_back(value);
  return true;
}

void ReadScalar(JsonScanner& scanner, const JsonColumn& column, JsonValues& values,
                JsonState& state) {
  const Kind kind = scanner.Next();
  const size_t begin = scanner.at();
  bool fits = false;
  if (column.dtype == DType::kString) {
    fits = kind == Kind::kText;
    if (fits) values.texts.push_back(scanner.Text(state.unescaped));
  } else if (kind == Kind::kNumber || kind == Kind::kTruth) {
    fits = AddNumber(scanner.Word(), column.dtype, values);
  }
  if (fits) return;
  scanner.GoBack(begin);
  const std::string found = kind == Kind::kNumber ? std::string(scanner.Word()) : KindName(kind);
  scanner.GoBack(begin);
  constexpr size_t kShown = 40;
  scanner.Fail(fmt::format("\"{}\": expected {}, found {}", column.name, Expected(column.dtype),
                           found.substr(0, kShown)),
               TypeHint(column));
}

void ReadAxis(JsonScanner& scanner, const JsonColumn& column, int axis, JsonValues& values,
              JsonState& state) {
  if (axis == column.shape.rank()) return ReadScalar(scanner, column, values, state);
  const Kind kind = scanner.Next();
  const int64_t expected = column.shape.dim(axis);
  const size_t begin = scanner.at();
  const auto refuse = [&](const std::string& found) {
    scanner.GoBack(begin);
    scanner.Fail(fmt::format("\"{}\": expected {}, found {}", column.name,
                             expected == kUnknownDim ? std::string("a list")
                                                     : fmt::format("a list of {}", expected),
                             found),
                 TypeHint(column));
  };
  if (kind != Kind::kList) refuse(KindName(kind));
  int64_t count = 0;
  for (scanner.Begin('['); scanner.More(']'); ++count) {
    if (count == expected) refuse("more");
    ReadAxis(scanner, column, axis + 1, values, state);
  }
  if (expected != kUnknownDim && count != expected) refuse(fmt::format("one of {}", count));
}

void ReadColumn(JsonScanner& scanner, const JsonColumn& column, JsonValues& values,
                JsonState& state) {
  const Kind kind = scanner.Next();
  if (values.is_there) scanner.Fail(fmt::format("\"{}\" is given twice", column.name));
  if (kind == Kind::kNull) return scanner.Null();
  values.is_there = true;
  // A single value also counts as a list of one.
  const bool is_one = column.is_list() || column.shape.elements() == 1;
  if (kind != Kind::kList && is_one) return ReadScalar(scanner, column, values, state);
  ReadAxis(scanner, column, 0, values, state);
}

template <class T>
Values AllOf(const std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

Values ValuesOf(const JsonColumn& column, const JsonValues& values, JsonScanner& scanner) {
  if (!values.is_there && !column.is_list()) {
    if (!column.value.valid()) {
      scanner.GoBack(0);
      scanner.Fail(fmt::format("\"{}\" must have a value", column.name),
                   "default_value makes it optional");
    }
    return {column.value.raw(), column.shape.elements()};
  }
  if (column.dtype == DType::kString) return AllOf(values.texts);
  return column.dtype == DType::kFloat ? AllOf(values.floats) : AllOf(values.numbers);
}

}  // namespace

std::vector<JsonColumn> StatedColumns(const std::map<std::string, FeatureOptions>& features,
                                      const std::string& key) {
  std::vector<JsonColumn> columns;
  for (const auto& [name, feature] : features) {
    const std::string place = fmt::format("{}.{}", key, name);
    JsonColumn column{.name = name};
    if (const auto* const fixed = std::get_if<FixedLenFeature>(&feature)) {
      column.dtype = JsonType(fixed->dtype, place);
      column.shape = Shape(fixed->shape);
      if (!column.shape.fully_known() || !IsCountable(column.shape)) {
        throw Error(Code::kUsage, fmt::format("shape is {}; expected sizes", column.shape.Text()))
            .Key(place + ".shape");
      }
      if (fixed->default_value) {
        column.value =
            Filled(*fixed->default_value, column.dtype, column.shape, place + ".default_value");
      }
    } else if (const auto* const list = std::get_if<VarLenFeature>(&feature)) {
      column.dtype = JsonType(list->dtype, place);
      column.shape = Shape({kUnknownDim});
    } else {
      throw Error(Code::kUsage, "expected FixedLenFeature or VarLenFeature for an object's lists",
                  "a padded_batch pads lists")
          .Key(place);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

JsonRows::JsonRows(std::vector<JsonColumn> columns) : columns_(std::move(columns)) {
  for (size_t i = 0; i < columns_.size(); ++i) by_name_[columns_[i].name] = i;
}

std::vector<TensorSpec> JsonRows::Specs(const std::string& key) const {
  std::vector<TensorSpec> specs;
  for (const JsonColumn& column : columns_) {
    specs.push_back({column.name, column.dtype, column.shape, key});
  }
  return specs;
}

void JsonRows::Read(JsonScanner& scanner, size_t size, Row& row) const {
  if (!row.state) row.state = std::make_unique<JsonState>();
  auto& state = static_cast<JsonState&>(*row.state);
  state.columns.resize(columns_.size());
  for (JsonValues& values : state.columns) values.Clear();
  state.unescaped.clear();
  // Texts are views into this string, so it must not grow: unescaped texts are shorter than the
  // row.
  state.unescaped.reserve(size);
  scanner.Begin('{');
  while (scanner.More('}')) {
    state.key.clear();
    const auto found = by_name_.find(scanner.Key(state.key));
    if (found == by_name_.end()) {
      scanner.Skip();
    } else {
      ReadColumn(scanner, columns_[found->second], state.columns[found->second], state);
    }
  }
  scanner.End();
  row.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    row.columns[i] = ValuesOf(columns_[i], state.columns[i], scanner);
  }
}

}  // namespace tpuest::data
