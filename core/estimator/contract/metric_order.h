#pragma once
// The order of evaluations by one metric, for exporters, keep_best and sweeps.

#include <cmath>
#include <string>

#include "core/base/visit.h"

namespace tpuest {

struct MetricOrder {
  std::string metric = "loss";
  std::string mode = "min";

  template <class V>
  void Visit(V& v) {
    v("metric", metric, {.help = "metric of the evaluation to compare", .tpuest = true});
    v("mode", mode,
      {.help = "whether smaller or larger is better", .tpuest = true, .values = {"min", "max"}});
  }
  // Whether `current` is strictly better; every number is better than NaN.
  [[nodiscard]] bool Better(float current, float best) const {
    if (std::isnan(best)) return !std::isnan(current);
    return mode == "max" ? current > best : current < best;
  }
};

}  // namespace tpuest
