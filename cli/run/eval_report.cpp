#include "cli/run/eval_report.h"

#include <cmath>
#include <cstdio>

#include "cli/job/job.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"

namespace tpuest::cli {

Json MetricsJson(const EvaluateResult& result) {
  Json metrics = Json::object();
  for (const auto& [name, value] : result.metrics) metrics[name] = JsonOf(value);
  return metrics;
}

namespace {

constexpr int64_t kMostShown = 20;

std::string RateText(double part, double of) {
  return of > 0 ? fmt::format("{:.3f}", part / of) : "-";
}

// Rows are labels, columns predictions.
std::string ConfusionText(const Tensor& counts, const std::vector<std::string>& classes) {
  const int64_t size = counts.shape().dim(0);
  const auto name = [&](int64_t i) {
    return static_cast<int64_t>(classes.size()) == size ? classes[static_cast<size_t>(i)]
                                                        : std::to_string(i);
  };
  const auto at = [&](int64_t row, int64_t column) { return counts.AsDouble(row * size + column); };
  std::vector<std::vector<std::string>> rows = {{"label"}};
  std::vector<std::string> precision = {"precision"};
  for (int64_t column = 0; column < size; ++column) {
    rows[0].push_back("as " + name(column));
    double predicted = 0;
    for (int64_t row = 0; row < size; ++row) predicted += at(row, column);
    precision.push_back(RateText(at(column, column), predicted));
  }
  rows[0].push_back("recall");
  for (int64_t row = 0; row < size; ++row) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(name(row));
    double labels = 0;
    for (int64_t column = 0; column < size; ++column) {
      labels += at(row, column);
      cells.push_back(NumberText(at(row, column)));
    }
    cells.push_back(RateText(at(row, row), labels));
  }
  precision.emplace_back();
  rows.push_back(std::move(precision));
  std::vector<bool> right(rows[0].size(), true);
  right[0] = false;
  return TableText(right, rows);
}

bool IsConfusion(const Tensor& metric) {
  return metric.dtype() != DType::kString && metric.shape().rank() == 2 &&
         metric.shape().dim(0) > 1 && metric.shape().dim(0) == metric.shape().dim(1);
}

}  // namespace

void PrintMetrics(const EvaluateResult& result, const std::string& prefix,
                  const std::vector<std::string>& classes) {
  for (const auto& [name, value] : result.metrics) {
    if (value.elements() != 1) continue;
    fmt::print("{}{} = {}\n", prefix, name, JsonOf(value.Reshaped({})).dump());
  }
  for (const auto& [name, value] : result.metrics) {
    if (!IsConfusion(value)) continue;
    if (value.shape().dim(0) > kMostShown) {
      fmt::print("{}{}: {} classes, in --json\n", prefix, name, value.shape().dim(0));
    } else {
      fmt::print("{}{}\n{}", prefix, name, ConfusionText(value, classes));
    }
  }
}

std::vector<std::string> ClassNamesOf(const Job& job) {
  const std::vector<config::FlatValue> keys = FlatJob(job);
  for (const std::string list : {"model.label_vocabulary", "model.head.label_vocabulary"}) {
    std::vector<std::string> names;
    for (const config::FlatValue& key : keys) {
      if (key.path != fmt::format("{}[{}]", list, names.size())) continue;
      const Json text = Json::parse(key.text, nullptr, false);
      names.push_back(text.is_string() ? text.get<std::string>() : key.text);
    }
    if (!names.empty()) return names;
  }
  return {};
}

std::map<std::string, double> MetricNumbers(const EvaluateResult& result,
                                            const std::string& prefix) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : result.metrics) {
    if (value.elements() != 1) continue;
    const Json shown = JsonOf(value.Reshaped({}));
    numbers[prefix + name] = shown.is_number() ? shown.get<double>() : std::nan("");
  }
  return numbers;
}

}  // namespace tpuest::cli
