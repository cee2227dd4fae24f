#include "core/estimator/model_dir/evaluations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/events/event_reader.h"

namespace tpuest {
namespace {

using Json = nlohmann::ordered_json;

bool IsEvaluation(const Json& line, const std::string& label, int64_t step) {
  return line.is_object() && line.value("eval", Json()) == label &&
         line.value("step", Json()) == step && line.contains("metrics");
}

// Takes the first line, including its end, from `rest`.
std::string_view TakeLine(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end);
  return line;
}

}  // namespace

std::map<std::string, float> EvaluationAt(const std::string& model_dir, const std::string& label,
                                          int64_t step) {
  std::map<std::string, float> metrics;
  const std::string path = MetricsPath(model_dir);
  if (!FileExists(path)) return metrics;
  const MappedFile file(path);
  std::string_view rest = file.bytes();
  while (!rest.empty()) {
    const std::string_view text = TakeLine(rest);
    if (text.find("\"eval\"") == std::string_view::npos) continue;
    const Json line = Json::parse(text, nullptr, false);
    if (!IsEvaluation(line, label, step)) continue;
    metrics.clear();  // a later line of the same step replaces it
    for (const auto& [name, value] : line["metrics"].items()) {
      metrics[name] = value.is_number() ? static_cast<float>(value.get<double>())
                                        : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return metrics;
}

std::map<std::string, float> EvaluationOrEventsAt(const std::string& model_dir,
                                                  const std::string& label, int64_t step) {
  std::map<std::string, float> metrics = EvaluationAt(model_dir, label, step);
  if (!metrics.empty()) return metrics;
  for (const std::string& path : EventFiles(EvalDir(model_dir, label == "eval" ? "" : label))) {
    for (const EventData& event : ReadEvents(path)) {
      if (event.step != step) continue;
      for (const SummaryValue& value : event.values) {
        if (const auto* const scalar = std::get_if<float>(&value.value)) {
          metrics[value.tag] = *scalar;
        }
      }
    }
  }
  return metrics;
}

std::optional<int64_t> LastEvaluationBefore(const std::string& model_dir, int64_t step) {
  std::optional<int64_t> last;
  if (!FileExists(MetricsPath(model_dir))) return last;
  const MappedFile file(MetricsPath(model_dir));
  std::string_view rest = file.bytes();
  while (!rest.empty()) {
    const std::string_view text = TakeLine(rest);
    if (text.find("\"eval\"") == std::string_view::npos) continue;
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) continue;
    const auto at = line["step"].get<int64_t>();
    if (at < step) last = std::max(last.value_or(at), at);
  }
  return last;
}

bool IsSettledStepDamaged(const std::string& model_dir) {
  return FileExists(SettledStepPath(model_dir)) && !ReadSettledStep(model_dir);
}

std::optional<SettledStep> ReadSettledStep(const std::string& model_dir) {
  const std::string path = SettledStepPath(model_dir);
  if (!FileExists(path)) return std::nullopt;
  const Json object = Json::parse(ReadFile(path), nullptr, false);
  if (!object.is_object() || !object.contains("global_step")) return std::nullopt;
  const Json& step = object["global_step"];
  if (!step.is_number_integer()) return std::nullopt;
  SettledStep settled{.step = step.get<int64_t>()};
  for (const Json& label : object.value("open", Json::array())) {
    if (label.is_string()) settled.open.insert(label.get<std::string>());
  }
  return settled;
}

void WriteSettledStep(const std::string& model_dir, const SettledStep& settled) {
  Json object = {{"global_step", settled.step}};
  if (!settled.open.empty()) object["open"] = settled.open;
  WriteFileAtomically(SettledStepPath(model_dir), object.dump() + "\n", /*fsync=*/false);
}

}  // namespace tpuest
