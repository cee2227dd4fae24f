#include "cli/run/record/json.h"

#include "cli/shell/json.h"
#include "core/base/files.h"
#include "core/estimator/checkpoint/model_dir.h"

namespace tpuest::cli {

std::optional<Json> ReadRunJson(const std::string& model_dir) {
  const std::string path = RunJsonPath(model_dir);
  if (!FileExists(path)) return std::nullopt;
  Json run = Json::parse(ReadFile(path), nullptr, /*allow_exceptions=*/false);
  return run.is_object() ? std::move(run) : Json::object();
}

}  // namespace tpuest::cli
