#include "data/pipeline/optional_features.h"

#include <fmt/format.h>

#include <optional>
#include <variant>
#include <vector>

#include "core/base/text.h"
#include "data/examples/example_encoder.h"
#include "data/examples/map_step.h"
#include "data/map_columns.h"
#include "data/pipeline/map_graph.h"

namespace tpuest::data {
namespace {

using Optional = std::map<std::string, FixedLenFeature>;
using CsvValue = std::variant<std::string, int64_t, double>;

Optional OfFeatures(const std::map<std::string, FeatureOptions>& features) {
  Optional optional;
  for (const auto& [name, feature] : features) {
    const auto* const fixed = std::get_if<FixedLenFeature>(&feature);
    if (fixed != nullptr && fixed->default_value) optional[name] = *fixed;
  }
  return optional;
}

// The value of an empty field; nullopt if the column must have a value.
std::optional<CsvValue> ValueOf(const CsvColumnDefault& given) {
  if (const auto* const both = std::get_if<CsvDefault>(&given)) return both->default_value;
  if (const auto* const whole = std::get_if<int64_t>(&given)) return *whole;
  if (const auto* const real = std::get_if<double>(&given)) return *real;
  const auto& text = std::get<std::string>(given);
  return DTypeFromName(text) ? std::nullopt : std::optional<CsvValue>(text);
}

// The value as YAML flow text.
Raw LiteralOf(const CsvValue& value) {
  if (const auto* const whole = std::get_if<int64_t>(&value)) return {fmt::format("{}", *whole)};
  if (const auto* const real = std::get_if<double>(&value)) return {NumberText(*real)};
  std::string quoted = "'";
  for (const char c : std::get<std::string>(value)) quoted.append(c == '\'' ? 2 : 1, c);
  return {quoted + "'"};
}

Optional OfCsv(const InputFnOptions& options, const CsvSource& csv, const std::string& key) {
  Optional optional;
  if (!csv.column_defaults) return optional;
  const std::vector<TensorSpec> columns = SourceColumns(options, key);
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::optional<CsvValue> value = ValueOf((*csv.column_defaults)[i]);
    if (!value || columns[i].dtype == DType::kDouble) continue;
    optional[columns[i].name] = {.dtype = std::string(NameOf(EncodingOf(columns[i]).dtype)),
                                 .default_value = LiteralOf(*value)};
  }
  return optional;
}

Optional OfSource(const InputFnOptions& options, const std::string& key) {
  if (!options.parse_example.empty()) return OfFeatures(options.parse_example);
  if (const auto* const csv = std::get_if<CsvSource>(&options.source)) {
    return OfCsv(options, *csv, key);
  }
  if (const auto* const json = std::get_if<JsonLinesSource>(&options.source)) {
    return OfFeatures(json->features);
  }
  const auto* const generator = std::get_if<GeneratorSource>(&options.source);
  return generator == nullptr ? Optional() : OfFeatures(generator->features);
}

}  // namespace

std::map<std::string, FixedLenFeature> OptionalFeatures(const InputFnOptions& options,
                                                        const std::string& name) {
  Optional optional = OfSource(options, "input_fns." + name);
  for (const KeyedMap& step : MapOf(options)) {
    optional.erase(ColumnsOf(*step.op).out.value_or(ColumnsOf(*step.op).in));
  }
  return optional;
}

}  // namespace tpuest::data
