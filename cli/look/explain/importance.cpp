#include "cli/look/explain/importance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/kernels/fingerprint.h"

namespace tpuest::cli {
namespace {

// The metrics of one value.
std::map<std::string, double> NumbersOf(const EvaluateResult& result) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : result.metrics) {
    if (value.dtype() == DType::kString || value.elements() != 1) continue;
    numbers[name] = value.AsDouble(0);
  }
  return numbers;
}

Change ChangeOf(const std::vector<double>& changes) {
  const auto n = static_cast<double>(changes.size());
  Change change;
  for (const double value : changes) change.mean += value / n;
  double squares = 0;
  for (const double value : changes) squares += (value - change.mean) * (value - change.mean);
  if (changes.size() > 1) change.deviation = std::sqrt(squares / (n - 1));
  return change;
}

}  // namespace

std::vector<int64_t> ShuffledOrder(uint64_t seed, const std::string& feature, int64_t repeat,
                                   int64_t n) {
  const RandomKey key{.seed = seed, .name = Fingerprint64(feature)};
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i) {
    order.push_back(static_cast<int64_t>(Permute(
        key, static_cast<uint64_t>(repeat), static_cast<uint64_t>(i), static_cast<uint64_t>(n))));
  }
  return order;
}

Importances ImportancesOf(Estimator& estimator, const ImportanceRequest& request, KeptRows& rows) {
  Importances importances;
  importances.evaluation =
      estimator.Evaluate(Keeping(request.input_fn, request.most_rows, rows), request.args);
  importances.metrics = NumbersOf(importances.evaluation);
  importances.by = importances.metrics.contains("average_loss") ? "average_loss" : "loss";
  for (size_t feature = 0; feature < rows.spec.features.size(); ++feature) {
    const std::string& name = rows.spec.features[feature].name;
    std::map<std::string, std::vector<double>> changes;
    for (int64_t repeat = 0; repeat < request.repeats; ++repeat) {
      std::vector<int64_t> order = ShuffledOrder(request.seed, name, repeat, rows.count());
      const EvaluateResult shuffled =
          estimator.Evaluate(Shuffled(rows, feature, std::move(order)), request.args);
      for (const auto& [metric, value] : NumbersOf(shuffled)) {
        changes[metric].push_back(value - importances.metrics[metric]);
      }
    }
    Importance& importance = importances.features.emplace_back(Importance{name, {}});
    for (const auto& [metric, values] : changes) importance.changes[metric] = ChangeOf(values);
  }
  std::stable_sort(importances.features.begin(), importances.features.end(),
                   [&](const Importance& a, const Importance& b) {
                     return a.changes.at(importances.by).mean > b.changes.at(importances.by).mean;
                   });
  return importances;
}

}  // namespace tpuest::cli
