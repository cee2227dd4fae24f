#include "core/estimator/model_dir/metrics_log.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest {
namespace {

using Json = nlohmann::ordered_json;

// Formats a number with only its digits: 1, where a double would be written as 1.0. Null if it is
// not finite.
template <class T>
Json JsonOf(T value, const std::string& digits) {
  return std::isfinite(value) ? Json::parse(digits) : Json();
}

template <class T>
Json JsonOf(T value) {
  return JsonOf(value, NumberText(value));
}

Json JsonOf(const Tensor& value) {
  if (value.dtype() == DType::kFloat) return JsonOf(*value.data<float>());
  return JsonOf(value.AsDouble(0));
}

// The step of a line; nullopt if the line is not a complete object with a step.
std::optional<int64_t> StepOf(const std::string& line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) {
    return std::nullopt;
  }
  return object["step"].get<int64_t>();
}

}  // namespace

MetricsLog::MetricsLog(const std::string& model_dir) : path_(MetricsPath(model_dir)) {
  MakeDirectories(PrivateDir(model_dir));
}

int64_t MetricsLog::CutAfter(int64_t step) {
  int64_t damaged = 0;
  const std::string cut = CutLine();
  Keep([&](const std::string& line) {
    const std::optional<int64_t> at = StepOf(line);
    if (!at && line != cut) ++damaged;
    return at && *at <= step;
  });
  return damaged;
}

// The last line if it has no line end, because its writer was killed; otherwise "".
std::string MetricsLog::CutLine() const {
  if (!FileExists(path_)) return "";
  const std::string text = ReadFile(path_);
  return text.substr(text.rfind('\n') + 1);
}

void MetricsLog::CutEvaluationsAt(int64_t step, const std::set<std::string>& labels) {
  Keep([&](const std::string& line) {
    if (StepOf(line) != step) return true;
    const Json label = Json::parse(line, nullptr, false).value("eval", Json());
    return !label.is_string() || !labels.contains(label.get<std::string>());
  });
}

bool MetricsLog::HasEvaluation(int64_t step, const std::string& label) const {
  if (!FileExists(path_)) return false;
  for (const std::string& line : Split(ReadFile(path_), '\n')) {
    if (StepOf(line) == step && Json::parse(line, nullptr, false).value("eval", "") == label) {
      return true;
    }
  }
  return false;
}

void MetricsLog::Keep(const std::function<bool(const std::string& line)>& keeps) {
  if (!FileExists(path_)) return;
  const std::string before = ReadFile(path_);
  std::string kept;
  for (const std::string& line : Split(before, '\n')) {
    if (!line.empty() && keeps(line)) kept += line + "\n";
  }
  if (kept == before) return;
  file_.reset();
  WriteFileAtomically(path_, kept);
}

void MetricsLog::Append(const StepLine& line) {
  Json object = {{"step", line.step}, {"loss", JsonOf(line.loss)}};
  if (line.learning_rate) object["learning_rate"] = JsonOf(*line.learning_rate);
  const double rate = line.examples_per_sec;
  object["examples_per_sec"] = JsonOf(rate, fmt::format("{:.6g}", rate));
  object["input_wait"] = JsonOf(line.input_wait, fmt::format("{:.4g}", line.input_wait));
  object["time"] = JsonOf(line.time, fmt::format("{:.3f}", line.time));
  Write(object.dump());
}

void MetricsLog::AppendEvaluation(int64_t step, const std::string& name,
                                  const std::map<std::string, Tensor>& metrics) {
  Json values = Json::object();
  for (const auto& [key, value] : metrics) {
    if (value.dtype() == DType::kString || value.elements() != 1) continue;
    values[key] = JsonOf(value);
  }
  Write(Json({{"step", step}, {"eval", name}, {"metrics", std::move(values)}}).dump());
}

void MetricsLog::Write(const std::string& line) {
  if (file_ == nullptr) file_ = std::make_unique<AppendFile>(path_);
  file_->Append(line + "\n");
}

}  // namespace tpuest
