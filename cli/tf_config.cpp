#include "cli/tf_config.h"

#include <cstdlib>

#include "cli/report.h"
#include "core/base/error.h"

namespace tpuest::cli {
namespace {

constexpr const char* kExample =
    R"(TF_CONFIG='{"cluster": {"chief": ["h0:2222"]}, "task": {"type": "evaluator", "index": 0}}')";

}  // namespace

bool IsEvaluatorTask() {
  const char* const text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return false;
  const Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) {
    throw Error(Code::kUsage, fmt::format("TF_CONFIG is no JSON object: {}", text), kExample);
  }
  const Json task = config.value("task", Json::object());
  if (!task.is_object() || task.value("type", Json()) != "evaluator") return false;
  const Json index = task.value("index", Json(0));
  if (index != 0) {
    throw Error(Code::kUsage,
                fmt::format("For distributed training, there can only be one `evaluator` task "
                            "(with task id 0).  Given task id {}",
                            index.dump()),
                kExample);
  }
  return true;
}

}  // namespace tpuest::cli
