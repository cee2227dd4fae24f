#include "cli/look/explain/record.h"

#include <algorithm>
#include <cmath>

#include "cli/look/explain/importance.h"
#include "cli/shell/json.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr size_t kMostText = 40;

// The number among a row's predictions that is explained.
struct Target {
  std::string key;
  int64_t element = 0;
  std::string name;
};

Target TargetOf(const PredictionRow& row) {
  const auto ends = [](const std::string& key, std::string_view word) {
    return key == word || EndsWith(key, "/" + std::string(word));
  };
  for (const auto& [key, value] : row.values) {
    if (!ends(key, "probabilities") || value.elements() < 2) continue;
    Target target{.key = key, .element = 0, .name = ""};
    for (int64_t i = 1; i < value.elements(); ++i) {
      if (value.AsDouble(i) > value.AsDouble(target.element)) target.element = i;
    }
    const std::string of = key.substr(0, key.size() - std::string_view("probabilities").size());
    const auto classes = row.values.find(of + "classes");
    const bool named = classes != row.values.end() && classes->second.elements() == 1 &&
                       classes->second.dtype() == DType::kString;
    target.name = fmt::format(
        "{}/{}", key,
        named ? std::string(classes->second.strings()[0]) : std::to_string(target.element));
    return target;
  }
  for (const std::string_view word : {"predictions", "logistic", "logits", "output"}) {
    for (const auto& [key, value] : row.values) {
      if (ends(key, word) && value.dtype() != DType::kString && value.elements() > 0) {
        return {.key = key, .element = 0, .name = key};
      }
    }
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.values) keys.push_back(key);
  throw Error(
      Code::kUsage, "--record: the model has no prediction that can be explained",
      fmt::format("expected probabilities or predictions; the model has: {}", Join(keys, ", ")));
}

std::string TextOf(const Tensor& value) {
  const Json json = JsonOf(value)[0];
  std::string text = json.is_string() ? json.get<std::string>()
                                      : json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (json.is_array() && json.size() == 1) {
    text = json[0].is_string() ? json[0].get<std::string>() : json[0].dump();
  }
  if (text.size() > kMostText) text = text.substr(0, kMostText - 3) + "...";
  return text;
}

}  // namespace

RecordReport ExplainRecord(Estimator& estimator, const RecordRequest& request,
                           const KeptRows& rows) {
  const int64_t count = rows.count();
  if (request.record >= count) {
    throw Error(Code::kUsage,
                fmt::format("--record {}: explain has read only these records of {}: 0 to {}",
                            request.record, request.label, count - 1),
                "--rows N reads more records");
  }
  const int64_t samples = std::min(request.samples, count);
  std::vector<MixedRow> mixed = {{.row = request.record, .feature = {}, .from = 0}};
  for (size_t feature = 0; feature < rows.spec.features.size(); ++feature) {
    const std::vector<int64_t> order =
        ShuffledOrder(request.seed, "record/" + rows.spec.features[feature].name, 0, count);
    for (int64_t i = 0; i < samples; ++i) {
      mixed.push_back(
          {.row = request.record, .feature = feature, .from = order[static_cast<size_t>(i)]});
    }
  }
  std::optional<Target> target;
  std::vector<double> values;
  const PredictArgs args{.checkpoint = request.checkpoint,
                         .predict_keys = {},
                         .yield_single_examples = true,
                         .limit = {},
                         .hooks = {}};
  (void)estimator.Predict(Mixed(rows, std::move(mixed)), args, [&](const PredictionRow& row) {
    if (!target) target = TargetOf(row);
    values.push_back(row.values.at(target->key).AsDouble(target->element));
    return true;
  });
  const size_t expected = 1 + rows.spec.features.size() * static_cast<size_t>(samples);
  if (values.size() != expected) {
    throw Error(Code::kInterrupted, "explain was stopped",
                "run it again: it keeps no intermediate results");
  }
  RecordReport report{.prediction = target->name, .value = values[0], .features = {}};
  for (size_t feature = 0; feature < rows.spec.features.size(); ++feature) {
    double sum = 0;
    for (int64_t i = 0; i < samples; ++i) {
      sum += values[1 + feature * static_cast<size_t>(samples) + static_cast<size_t>(i)];
    }
    const double without = sum / static_cast<double>(samples);
    report.features.push_back({.feature = rows.spec.features[feature].name,
                               .value = TextOf(ValueOf(rows, feature, request.record)),
                               .without = without,
                               .change = values[0] - without});
  }
  std::stable_sort(report.features.begin(), report.features.end(),
                   [](const Contribution& a, const Contribution& b) {
                     return std::abs(a.change) > std::abs(b.change);
                   });
  return report;
}

}  // namespace tpuest::cli
