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
#include "core/hosts/launch.h"

namespace tpuest {

struct RunConfig;

}  // namespace tpuest

namespace tpuest::cli {

struct TfConfig {
  std::string text;  // the JSON; "": the environment has none
  // Addresses by task type and index. A cluster that grows may name a later worker alone.
  std::map<std::string, std::map<int64_t, std::string>> cluster;
  std::string task_type = "worker";
  int64_t task_id = 0;
  std::optional<std::string> model_dir;

  [[nodiscard]] bool is_evaluator() const { return task_type == "evaluator"; }
  // The tasks of a type, with those below the highest index that have no address.
  [[nodiscard]] int64_t TasksOf(const std::string& type) const;
};

// By whose rules a cluster is judged: RunConfig's, which asks for a chief (or a master), or, where
// the job has a train_distribute and there is no master, those of TensorFlow's distribute
// coordinator, for which worker 0 is the chief of a cluster that has none.
enum class ClusterRules { kRunConfig, kStrategy };

// Reads the text of a TF_CONFIG. Error kUsage, in TensorFlow's words, where no RunConfig can be
// made of it.
[[nodiscard]] TfConfig ParseTfConfig(std::string text,
                                     ClusterRules rules = ClusterRules::kRunConfig);
// The same for TF_CONFIG of this process's environment, where there is one.
[[nodiscard]] TfConfig ReadTfConfig(ClusterRules rules = ClusterRules::kRunConfig);

// Whether TF_CONFIG makes this process the evaluator of its cluster; a text that cannot be read
// does not.
[[nodiscard]] bool IsEvaluatorTask();

// This process among those of the cluster; nullopt where TF_CONFIG names none. The chief or master
// is the first, and its workers follow; evaluators and parameter servers stand beside them.
[[nodiscard]] std::optional<hosts::ProcessPlace> PlaceInCluster(const TfConfig& config);

// Error kUsage if a process of this task cannot run the command: one process trains, and beside it
// one may evaluate.
void CheckTask(const TfConfig& config, const Invocation& invocation);

// Gives the run the model_dir of TF_CONFIG where the job has none. Error kUsage if the job has
// another.
void ApplyTfConfig(const TfConfig& config, RunConfig& run_config, Log& log);

}  // namespace tpuest::cli
