#pragma once
// evaluate --fail-if 'accuracy<0.9': a gate says what an evaluation's metrics must not be.

#include <map>
#include <string>
#include <vector>

namespace tpuest::cli {

struct EvalGate {
  std::string text;    // the gate as it was given
  std::string metric;  // "accuracy"; of several evaluations "test/accuracy"
  std::string comparison;
  double bound = 0;

  // True where the comparison holds, and where the value is NaN: nothing can be said for that.
  [[nodiscard]] bool FailsAt(double value) const;
};

// Reads "METRIC<NUMBER", with <, <=, > or >=. Error kUsage for anything else.
[[nodiscard]] EvalGate ParseEvalGate(const std::string& text);

struct FailedGate {
  std::string text;  // "accuracy<0.9"
  double value = 0;
};

// The gates that fail at these metrics, in order. Error kUsage with the known names for a metric
// that is not among them.
[[nodiscard]] std::vector<FailedGate> FailedGates(const std::vector<EvalGate>& gates,
                                                  const std::map<std::string, double>& metrics);

}  // namespace tpuest::cli
