#pragma once
// evaluate --fail-if 'accuracy<0.9': a gate is a condition that an evaluation's metrics must not
// meet.

#include <map>
#include <string>
#include <vector>

namespace tpuest::cli {

struct EvalGate {
  std::string text;    // the gate as it was given
  std::string metric;  // "accuracy"; "test/accuracy" if the job has several evaluations
  std::string comparison;
  double bound = 0;

  // Returns true if the comparison holds, and for NaN, for which no gate passes.
  [[nodiscard]] bool FailsAt(double value) const;
};

// Reads "METRIC<NUMBER", with <, <=, > or >=. Error kUsage for anything else.
[[nodiscard]] EvalGate ParseEvalGate(const std::string& text);

struct FailedGate {
  std::string text;  // "accuracy<0.9"
  double value = 0;
};

// The gates that fail at these metrics, in order. Error kUsage, with the known names, for an
// unknown metric.
[[nodiscard]] std::vector<FailedGate> FailedGates(const std::vector<EvalGate>& gates,
                                                  const std::map<std::string, double>& metrics);

}  // namespace tpuest::cli
