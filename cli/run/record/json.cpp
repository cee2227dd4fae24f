#include "cli/run/record/json.h"

#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {

std::optional<Json> ReadRunJson(const std::string& model_dir) {
  const std::string path = RunJsonPath(model_dir);
  if (!FileExists(path)) return std::nullopt;
  Json run = Json::parse(ReadFile(path), nullptr, /*allow_exceptions=*/false);
  return run.is_object() ? std::move(run) : Json::object();
}

std::optional<std::string> InputOfRun(const std::string& model_dir) {
  const Json run = ReadRunJson(model_dir).value_or(Json::object());
  const bool is_known = run.contains("input") && run["input"].is_string();
  return is_known ? std::optional(run["input"].get<std::string>()) : std::nullopt;
}

}  // namespace tpuest::cli
