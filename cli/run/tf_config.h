#pragma once
// Reads the environment's TF_CONFIG, in which TensorFlow's launchers give each process its task, as
// RunConfig does:
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
  std::string text;  // the JSON; empty if the variable is not set
  // Addresses by task type and index. A growing cluster may name only a later worker.
  std::map<std::string, std::map<int64_t, std::string>> cluster;
  std::string task_type = "worker";
  int64_t task_id = 0;
  std::optional<std::string> model_dir;

  [[nodiscard]] bool is_evaluator() const { return task_type == "evaluator"; }
  // Number of tasks of a type, including tasks without an address below the highest index.
  [[nodiscard]] int64_t TasksOf(const std::string& type) const;
};

// The rules that check a cluster: RunConfig's, which require a chief (or a master); or, for a job
// with a train_distribute and a cluster without a master, those of TensorFlow's distribute
// coordinator, for which worker 0 is the chief of a cluster without one.
enum class ClusterRules { kRunConfig, kStrategy };

// Reads the text of a TF_CONFIG. Error kUsage, in TensorFlow's words, if RunConfig would refuse it.
[[nodiscard]] TfConfig ParseTfConfig(std::string text,
                                     ClusterRules rules = ClusterRules::kRunConfig);
// The same for TF_CONFIG of this process's environment, if it is set.
[[nodiscard]] TfConfig ReadTfConfig(ClusterRules rules = ClusterRules::kRunConfig);

// Returns true if TF_CONFIG makes this process the evaluator of its cluster; false for an invalid
// text.
[[nodiscard]] bool IsEvaluatorTask();

// Returns this process's place in the cluster; nullopt if TF_CONFIG names none. The chief or master
// comes first and the workers follow; evaluators and parameter servers are outside the group.
[[nodiscard]] std::optional<hosts::ProcessPlace> PlaceInCluster(const TfConfig& config);

// Throws Error kUsage if a process of this task cannot run the command: one process trains, and one
// more may evaluate.
void CheckTask(const TfConfig& config, const Invocation& invocation);

// Sets the run's model_dir to that of TF_CONFIG if the job has none. Error kUsage if the job has a
// different one.
void ApplyTfConfig(const TfConfig& config, RunConfig& run_config, Log& log);

}  // namespace tpuest::cli
