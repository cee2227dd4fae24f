#include "core/hosts/launch.h"

#include <doctest/doctest.h>

#include <map>

#include "core/base/error.h"

namespace tpuest::hosts {
namespace {

using Set = std::map<std::string, std::string>;

ProcessPlace PlaceOf(const Set& set, const std::optional<ProcessPlace>& configured = {}) {
  return PlaceInGroup(
      [&](const std::string& name) {
        const auto found = set.find(name);
        return found == set.end() ? std::nullopt : std::optional(found->second);
      },
      configured);
}

std::string TextOf(const Set& set) {
  const ProcessPlace place = PlaceOf(set);
  const std::string coordinator = CoordinatorText(place);
  return PlaceText(place) + (coordinator.empty() ? "" : ", ") + coordinator;
}

std::string FaultOf(const Set& set, const std::optional<ProcessPlace>& configured = {}) {
  try {
    return "no fault: " + PlaceText(PlaceOf(set, configured));
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    return error.message();
  }
}

Set With(Set set, const Set& more) {
  for (const auto& [name, value] : more) set[name] = value;
  return set;
}

const Set kTorchrun = {
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h0"}, {"MASTER_PORT", "29400"}};
const Set kSlurm = {{"SLURM_STEP_ID", "0"},        {"SLURM_STEP_NODELIST", "n[01-02]"},
                    {"SLURM_PROCID", "1"},         {"SLURM_STEP_NUM_TASKS", "2"},
                    {"SLURM_JOB_ID", "123456789"}, {"SLURM_NTASKS", "8"}};
const Set kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}};

TEST_CASE("each launcher's variables give the process's place") {
  CHECK(TextOf({}) == "alone");
  CHECK(TextOf({{"TPUEST_PROCESS_ID", "2"},
                {"TPUEST_NUM_PROCESSES", "4"},
                {"TPUEST_COORDINATOR", "h0:2222"}}) ==
        "process 2 of 4 by tpuest, coordinator h0:2222");
  CHECK(TextOf(kTorchrun) == "process 1 of 4 by torchrun, coordinator h0:29400");
  CHECK(
      TextOf(
          {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "2"}, {"PET_MASTER_ADDR", "job-node-0-0.job"}}) ==
      "process 1 of 2 by torchrun, coordinator job-node-0-0.job:29500");
  CHECK(TextOf({{"JAX_PROCESS_ID", "0"},
                {"JAX_NUM_PROCESSES", "2"},
                {"JAX_COORDINATOR_ADDRESS", "h0:29500"}}) ==
        "process 0 of 2 by JAX, coordinator h0:29500");
  CHECK(TextOf({{"PROCESS_ID", "1"},
                {"NUM_PROCESSES", "2"},
                {"COORDINATOR_ADDRESS", "h0"},
                {"COORDINATOR_PORT", "5"}}) == "process 1 of 2 by JAX, coordinator h0:5");
  CHECK(TextOf(kOpenMpi) == "process 3 of 4 by Open MPI, no coordinator known");
  CHECK(TextOf({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}) ==
        "process 1 of 2 by MPICH, no coordinator known");
  CHECK(TextOf(kSlurm) == "process 1 of 2 by Slurm, coordinator n01:64789");
  CHECK(TextOf({{"JOB_COMPLETION_INDEX", "3"},
                {"TPUEST_NUM_PROCESSES", "8"},
                {"TPUEST_COORDINATOR", "job-0.net:2222"}}) ==
        "process 3 of 8 by indexed Job, coordinator job-0.net:2222");
}

TEST_CASE("AWS Batch's main node is the chief, whatever its index") {
  const Set batch = {{"AWS_BATCH_JOB_NUM_NODES", "4"}, {"AWS_BATCH_JOB_MAIN_NODE_INDEX", "2"}};
  const Set other = {{"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", "10.0.0.7"}};
  CHECK(PlaceOf(With(batch, {{"AWS_BATCH_JOB_NODE_INDEX", "2"}})).rank == 0);
  CHECK(PlaceOf(With(batch, {{"AWS_BATCH_JOB_NODE_INDEX", "0"}})).rank == 1);
  CHECK(PlaceOf(With(batch, {{"AWS_BATCH_JOB_NODE_INDEX", "1"}})).rank == 2);
  CHECK(PlaceOf(With(batch, {{"AWS_BATCH_JOB_NODE_INDEX", "3"}})).rank == 3);
  CHECK(TextOf(With(With(batch, other), {{"AWS_BATCH_JOB_NODE_INDEX", "3"}})) ==
        "process 3 of 4 by AWS Batch, coordinator 10.0.0.7:2222");
}

TEST_CASE("the workers of TPU slices are counted slice after slice") {
  const Set pod = {{"TPU_WORKER_ID", "1"}, {"TPU_WORKER_HOSTNAMES", "t0,t1,t2,t3"}};
  CHECK(TextOf(pod) == "process 1 of 4 by TPU pod, coordinator t0:8482");
  CHECK(TextOf(With(pod, {{"MEGASCALE_NUM_SLICES", "2"},
                          {"MEGASCALE_SLICE_ID", "1"},
                          {"MEGASCALE_COORDINATOR_ADDRESS", "s0:8080"}})) ==
        "process 5 of 8 by TPU pod, coordinator s0:8482");
  CHECK(TextOf(With(pod, {{"TPU_PROCESS_ADDRESSES", "[::1]:8471,[::2]:8471"}})) ==
        "process 1 of 2 by TPU pod, coordinator [::1]:8482");
  CHECK(TextOf({{"TPU_WORKER_ID", "0"}, {"TPU_WORKER_HOSTNAMES", "localhost"}}) ==
        "process 0 of 1 by TPU pod");
  CHECK(FaultOf(With(pod, {{"TPU_WORKER_ID", "4"}})) ==
        "TPU_WORKER_ID is 4 of 4 hosts in TPU_WORKER_HOSTNAMES, in slice 0 of 1");
}

TEST_CASE("a warning that libtpu left in its variables is ignored") {
  const std::string warning = "WARNING: could not determine TPU worker number, using defaults";
  CHECK(TextOf({{"TPU_WORKER_ID", warning}, {"TPU_WORKER_HOSTNAMES", warning}}) == "alone");
  CHECK(TextOf({{"TPU_WORKER_ID", "0"}, {"TPU_WORKER_HOSTNAMES", warning}}) == "alone");
}

TEST_CASE("a Slurm batch script, an indexed Job and a range of nodes do not form a group") {
  CHECK(TextOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_NODELIST", "n[1-8]"}}) ==
        "alone");
  CHECK(TextOf({{"JOB_COMPLETION_INDEX", "3"}}) == "alone");
  CHECK(TextOf({{"PET_NODE_RANK", "1"}, {"PET_NNODES", "1:4"}}) == "alone");
  CHECK(TextOf({{"RANK", "warrant officer"}}) == "alone");
}

TEST_CASE("TPUEST variables override the launchers' variables, valid or not") {
  const Set both = With(kTorchrun, kOpenMpi);
  CHECK(TextOf(With(both, {{"TPUEST_NUM_PROCESSES", "1"}})) == "alone");
  CHECK(TextOf(With(both, {{"TPUEST_PROCESS_ID", "0"}, {"TPUEST_NUM_PROCESSES", "2"}})) ==
        "process 0 of 2 by tpuest, no coordinator known");
  CHECK(TextOf({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"TPUEST_NUM_PROCESSES", "1"}}) == "alone");
  CHECK(TextOf(With(kOpenMpi, {{"TPUEST_COORDINATOR", "h0:1"}, {"TPUEST_NUM_PROCESSES", "4"}})) ==
        "process 3 of 4 by Open MPI, coordinator h0:1");
  CHECK(FaultOf(With(kOpenMpi, {{"TPUEST_NUM_PROCESSES", "2"}})) ==
        "TPUEST_NUM_PROCESSES is 2; this is process 3 of 4 by Open MPI (OMPI_COMM_WORLD_RANK, "
        "OMPI_COMM_WORLD_SIZE)");
  CHECK(FaultOf({{"TPUEST_NUM_PROCESSES", "2"}}) ==
        "TPUEST_NUM_PROCESSES is 2, but no variable gives the id of this process");
  CHECK(FaultOf({{"TPUEST_PROCESS_ID", "1"}}) ==
        "TPUEST_NUM_PROCESSES is ''; expected a whole number from 1 on");
}

TEST_CASE("two launchers that disagree are refused by name") {
  CHECK(FaultOf(With(kTorchrun, {{"JAX_PROCESS_ID", "0"}, {"JAX_NUM_PROCESSES", "4"}})) ==
        "two launchers disagree: this is process 1 of 4 by torchrun (RANK, WORLD_SIZE), and "
        "process 0 of 4 by JAX (JAX_PROCESS_ID, JAX_NUM_PROCESSES)");
  CHECK(TextOf(With(kTorchrun, {{"JAX_PROCESS_ID", "1"}, {"JAX_NUM_PROCESSES", "4"}})) ==
        "process 1 of 4 by torchrun, coordinator h0:29400");
}

TEST_CASE("a starter may start more processes than its scheduler has tasks, but not fewer") {
  CHECK(PlaceOf(With(kTorchrun, kSlurm)).launcher == "torchrun");
  CHECK(PlaceOf(With(kOpenMpi, kSlurm)).launcher == "Open MPI");
  CHECK(FaultOf(With({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, kSlurm)) ==
        "two launchers disagree: this is process 0 of 1 by torchrun (RANK, WORLD_SIZE), and "
        "process 1 of 2 by Slurm (SLURM_PROCID, SLURM_STEP_NUM_TASKS)");
}

TEST_CASE("a scheduler may have a task for the cluster's evaluator") {
  const ProcessPlace worker{
      .launcher = "TF_CONFIG", .read_from = "cluster, task", .rank = 1, .size = 2, .beside = 1};
  const auto slurm = [&](const char* task, const char* tasks) {
    return With(kSlurm, {{"SLURM_PROCID", task}, {"SLURM_STEP_NUM_TASKS", tasks}});
  };
  CHECK(PlaceOf(slurm("1", "2"), worker).launcher == "TF_CONFIG");
  CHECK(PlaceOf(slurm("2", "3"), worker).launcher == "TF_CONFIG");
  CHECK(FaultOf(slurm("0", "2"), worker).starts_with("two launchers disagree"));
  CHECK(FaultOf(slurm("1", "4"), worker).starts_with("two launchers disagree"));
}

TEST_CASE("a variable without a valid number is named") {
  CHECK(FaultOf({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) ==
        "OMPI_COMM_WORLD_RANK is 'x'; expected a whole number from 0 on");
  CHECK(FaultOf({{"RANK", "4"}, {"WORLD_SIZE", "4"}}) ==
        "RANK is 4 and WORLD_SIZE is 4; expected 0 to 3");
  CHECK(FaultOf({{"RANK", "0"}, {"WORLD_SIZE", "0"}}) ==
        "WORLD_SIZE is '0'; expected a whole number from 1 on");
  CHECK(FaultOf(With(kSlurm, {{"SLURM_STEP_NODELIST", "n[1"}})) ==
        "SLURM_STEP_NODELIST is 'n[1'; expected hosts as Slurm lists them");
}

}  // namespace
}  // namespace tpuest::hosts
