#include <algorithm>
#include <cmath>
#include <limits>

#include "core/io/events/event.h"

namespace tpuest {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// Upper ends of TensorFlow's buckets.
std::vector<double> BucketLimits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(kLargest);
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

// Merges each run of empty buckets into one.
void Collapse(const std::vector<double>& limits, const std::vector<double>& counts,
              HistogramData& data) {
  for (size_t i = 0; i < limits.size(); ++i) {
    const bool joins = counts[i] == 0 && i + 1 < limits.size() && counts[i + 1] == 0;
    if (joins) continue;
    data.limits.push_back(limits[i]);
    data.counts.push_back(counts[i]);
  }
}

}  // namespace

HistogramData HistogramOf(const Tensor& tensor) {
  const std::vector<double> limits = BucketLimits();
  std::vector<double> counts(limits.size());
  HistogramData data{.min = kLargest, .max = -kLargest};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.AsDouble(i);
    if (!std::isfinite(value)) continue;
    const auto bucket = std::upper_bound(limits.begin(), limits.end() - 1, value) - limits.begin();
    counts[static_cast<size_t>(bucket)] += 1;
    data.min = std::min(data.min, value);
    data.max = std::max(data.max, value);
    data.num += 1;
    data.sum += value;
    data.sum_squares += value * value;
  }
  Collapse(limits, counts, data);
  return data;
}

}  // namespace tpuest
