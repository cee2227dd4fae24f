#pragma once
// The environment's TF_CONFIG, by which TensorFlow's launchers say who is who, as RunConfig reads
// it:
//   {"cluster": {"chief": ["h0:2222"]}, "task": {"type": "evaluator", "index": 0},
//    "model_dir": "run"}

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cli/shell/invocation.h"
#include "core/base/log.h"

namespace tpuest {

struct RunConfig;

}  // namespace tpuest

namespace tpuest::cli {

struct TfConfig {
  std::string text;                       // the JSON; "": the environment has none
  std::map<std::string, size_t> cluster;  // number of nodes by task type
  std::string task_type = "worker";
  int64_t task_id = 0;
  std::optional<std::string> model_dir;

  [[nodiscard]] bool is_evaluator() const { return task_type == "evaluator"; }
};

// Reads the text of a TF_CONFIG. Error kUsage, in TensorFlow's words, where no RunConfig can be
// made of it.
[[nodiscard]] TfConfig ParseTfConfig(std::string text);
// The same for TF_CONFIG of this process's environment, where there is one.
[[nodiscard]] TfConfig ReadTfConfig();

// Error kUsage if a process of this task cannot run the command: one process trains, and beside it
// one may evaluate.
void CheckTask(const TfConfig& config, const Invocation& invocation);

// Gives the run the model_dir of TF_CONFIG where the job has none. Error kUsage if the job has
// another.
void ApplyTfConfig(const TfConfig& config, RunConfig& run_config, Log& log);

}  // namespace tpuest::cli
