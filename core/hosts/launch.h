#pragma once
// Which of a job's processes this one is, by the variables that its launcher has set.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tpuest::hosts {

// Looks up a variable of the environment.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Counted from 0; process 0 is the chief.
struct ProcessPlace {
  std::string launcher;   // who says so: "torchrun"; empty: nobody, and the process is alone
  std::string read_from;  // its variables: "RANK, WORLD_SIZE"
  int64_t rank = 0;
  int64_t size = 1;
  std::string coordinator;  // the chief's "host:port"; empty: nobody has said
  int64_t beside = 0;       // processes that take part without training: evaluators
  std::string role;         // what this one is instead of the rank-th that trains: "evaluator"

  [[nodiscard]] bool is_one_of_several() const { return size > 1; }
};

// The port of the chief where a launcher names its host alone.
inline constexpr int kDefaultPort = 2222;

// The place of this process. What is given by TPUEST_PROCESS_ID and TPUEST_NUM_PROCESSES goes
// first, then `configured` (of TF_CONFIG), torchrun, JAX, TPU pods, Open MPI, MPICH, Slurm steps,
// AWS Batch. TPUEST_NUM_PROCESSES alone says 1 for a process by itself, or how many an indexed Job
// of Kubernetes has. Error kUsage where a variable holds no such number, and where two launchers
// do not agree and nothing is given: a starter of processes (torchrun, MPI) may start more than the
// scheduler that it runs under has tasks, all others must say the same.
[[nodiscard]] ProcessPlace PlaceInGroup(const VariableLookup& environment,
                                        const std::optional<ProcessPlace>& configured);

// "process 1 of 4 by torchrun"; "alone".
[[nodiscard]] std::string PlaceText(const ProcessPlace& place);
// "coordinator h0:29500"; "no coordinator known"; empty for a process that needs none.
[[nodiscard]] std::string CoordinatorText(const ProcessPlace& place);

}  // namespace tpuest::hosts
