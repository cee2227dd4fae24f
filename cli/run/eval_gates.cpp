#include "cli/run/eval_gates.h"

#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

bool EvalGate::FailsAt(double value) const {
  if (std::isnan(value)) return true;
  if (comparison == "<") return value < bound;
  if (comparison == "<=") return value <= bound;
  if (comparison == ">") return value > bound;
  return value >= bound;
}

EvalGate ParseEvalGate(const std::string& text) {
  const size_t at = text.find_first_of("<>");
  EvalGate gate{.text = text, .metric = Trimmed(text.substr(0, at)), .comparison = "", .bound = 0};
  std::string number;
  if (at != std::string::npos) {
    gate.comparison = text.substr(at, text.compare(at + 1, 1, "=") == 0 ? 2 : 1);
    number = Trimmed(text.substr(at + gate.comparison.size()));
  }
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, gate.bound);
  const bool is_number = !number.empty() && error == std::errc() && rest == end;
  if (gate.metric.empty() || !is_number || std::isnan(gate.bound)) {
    throw Error(
        Code::kUsage,
        fmt::format("--fail-if: expected a metric, <, <=, > or >=, and a number, found '{}'", text),
        "--fail-if 'accuracy<0.9'");
  }
  return gate;
}

std::vector<FailedGate> FailedGates(const std::vector<EvalGate>& gates,
                                    const std::map<std::string, double>& metrics) {
  std::vector<FailedGate> failed;
  for (const EvalGate& gate : gates) {
    const auto found = metrics.find(gate.metric);
    if (found == metrics.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : metrics) names.push_back(name);
      const auto nearest = Nearest(gate.metric, names);
      throw Error(
          Code::kUsage, fmt::format("--fail-if: unknown metric '{}'", gate.metric),
          fmt::format("{}metrics: {}", nearest ? fmt::format("did you mean '{}'? ", *nearest) : "",
                      Join(names, ", ")));
    }
    if (gate.FailsAt(found->second)) failed.push_back({gate.text, found->second});
  }
  return failed;
}

}  // namespace tpuest::cli
