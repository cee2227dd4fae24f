#pragma once
// Finds this process's rank among the job's processes from the variables that its launcher set.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tpuest::hosts {

// Looks up a variable of the environment.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

// A process's rank, counted from 0; process 0 is the chief.
struct ProcessPlace {
  // The launcher that numbered the processes: "torchrun"; empty: this is the only process.
  std::string launcher;
  std::string read_from;  // the launcher's variables: "RANK, WORLD_SIZE"
  int64_t rank = 0;
  int64_t size = 1;
  std::string coordinator;  // the chief's "host:port"; empty: not known
  int64_t beside = 0;       // processes of the cluster that do not train: evaluators
  std::string role;         // "evaluator" for a process that does not train; otherwise empty

  [[nodiscard]] bool is_one_of_several() const { return size > 1; }
};

// The chief's port if the launcher names only its host.
inline constexpr int kDefaultPort = 2222;

// Returns the place of this process. TPUEST_PROCESS_ID and TPUEST_NUM_PROCESSES take precedence,
// then `configured` (from TF_CONFIG), torchrun, JAX, TPU pods, Open MPI, MPICH, Slurm steps, AWS
// Batch. TPUEST_NUM_PROCESSES without an id is 1 for a single process, or the size of an indexed
// Job of Kubernetes. Throws kUsage if a variable is not a valid number, or if two launchers
// disagree and the TPUEST variables do not decide; only a starter of processes (torchrun, MPI) may
// count more processes than the scheduler above it has tasks.
[[nodiscard]] ProcessPlace PlaceInGroup(const VariableLookup& environment,
                                        const std::optional<ProcessPlace>& configured);

// "process 1 of 4 by torchrun"; "alone" for a single process.
[[nodiscard]] std::string PlaceText(const ProcessPlace& place);
// "coordinator h0:29500"; "no coordinator known"; empty for a process that needs none.
[[nodiscard]] std::string CoordinatorText(const ProcessPlace& place);

}  // namespace tpuest::hosts
