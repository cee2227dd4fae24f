#include "core/hosts/launch.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"
#include "core/hosts/host_list.h"

namespace tpuest::hosts {
namespace {

constexpr const char* kAlone = "TPUEST_NUM_PROCESSES=1 runs each process by itself";
constexpr int kTorchPort = 29500;
constexpr int kTpuPort = 8482;
// JAX's port under Slurm is one of the last 4096, chosen by the job's number.
constexpr int64_t kSlurmPorts = 4096;
constexpr int64_t kFirstSlurmPort = 61440;
constexpr int64_t kMostProcesses = 1'000'000;

// Reads the environment variables of one launcher.
class Variables {
 public:
  explicit Variables(const VariableLookup& environment) : environment_(environment) {}

  [[nodiscard]] std::string Text(const std::string& name) const {
    return environment_(name).value_or("");
  }
  [[nodiscard]] bool Has(const std::string& name) const { return !Text(name).empty(); }

  // The variable's value as an integer; nullopt if it is not set or not an integer.
  [[nodiscard]] std::optional<int64_t> MaybeNumber(const std::string& name) const {
    const auto number = WholeNumber<int64_t>(Text(name));
    return number && *number >= 0 && *number <= kMostProcesses ? number : std::nullopt;
  }

  // The variable's value, at least `least`; otherwise throws kUsage.
  [[nodiscard]] int64_t Number(const std::string& name, int64_t least) const {
    const auto number = MaybeNumber(name);
    if (number && *number >= least) return *number;
    throw Error(
        Code::kUsage,
        fmt::format("{} is '{}'; expected a whole number from {} on", name, Text(name), least),
        kAlone);
  }

  // "host:port" from the variables of a host and a port.
  [[nodiscard]] std::string Address(const std::string& host, const std::string& port,
                                    int usual_port) const {
    if (!Has(host)) return "";
    return fmt::format("{}:{}", Text(host), Has(port) ? Text(port) : std::to_string(usual_port));
  }

  // The place given by a variable of the rank and one of the size.
  [[nodiscard]] ProcessPlace Counted(const char* launcher, const std::string& rank,
                                     const std::string& size) const {
    ProcessPlace place{.launcher = launcher,
                       .read_from = fmt::format("{}, {}", rank, size),
                       .rank = Number(rank, 0),
                       .size = Number(size, 1)};
    if (place.rank < place.size) return place;
    throw Error(Code::kUsage,
                fmt::format("{} is {} and {} is {}; expected 0 to {}", rank, place.rank, size,
                            place.size, place.size - 1),
                kAlone);
  }

 private:
  const VariableLookup& environment_;
};

using Found = std::optional<ProcessPlace>;

Found Torchrun(const Variables& variables) {
  if (variables.Has("RANK") && variables.Has("WORLD_SIZE")) {
    ProcessPlace place = variables.Counted("torchrun", "RANK", "WORLD_SIZE");
    place.coordinator = variables.Address("MASTER_ADDR", "MASTER_PORT", kTorchPort);
    return place;
  }
  // Kubeflow's Trainer sets these variables for torchrun; without it, each node runs one process.
  // Only torchrun understands a range of nodes ("1:4").
  const auto nodes = variables.MaybeNumber("PET_NNODES");
  if (!nodes || *nodes < 1 || !variables.Has("PET_NODE_RANK")) return std::nullopt;
  ProcessPlace place = variables.Counted("torchrun", "PET_NODE_RANK", "PET_NNODES");
  place.coordinator = variables.Address("PET_MASTER_ADDR", "PET_MASTER_PORT", kTorchPort);
  return place;
}

Found Jax(const Variables& variables) {
  if (variables.Has("JAX_PROCESS_ID") && variables.Has("JAX_NUM_PROCESSES")) {
    ProcessPlace place = variables.Counted("JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES");
    place.coordinator = variables.Text("JAX_COORDINATOR_ADDRESS");
    return place;
  }
  for (const char* const name : {"PROCESS_ID", "NUM_PROCESSES", "COORDINATOR_ADDRESS"}) {
    if (!variables.Has(name)) return std::nullopt;
  }
  ProcessPlace place = variables.Counted("JAX", "PROCESS_ID", "NUM_PROCESSES");
  place.coordinator = variables.Address("COORDINATOR_ADDRESS", "COORDINATOR_PORT", kDefaultPort);
  return place;
}

// "h0:8471" and "[::1]:8471" without their port.
std::string HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  const bool has_port = colon != std::string_view::npos && address.find(':') == colon;
  const bool in_brackets = address.starts_with('[') && colon > address.rfind(']');
  return std::string(has_port || in_brackets ? address.substr(0, colon) : address);
}

// On machines without a TPU libtpu writes "WARNING: could not determine ..." into these variables;
// such a value is ignored.
Found TpuPod(const Variables& variables) {
  const auto worker = variables.MaybeNumber("TPU_WORKER_ID");
  const std::string list =
      variables.Has("TPU_PROCESS_ADDRESSES") ? "TPU_PROCESS_ADDRESSES" : "TPU_WORKER_HOSTNAMES";
  const std::string text = variables.Text(list);
  if (!worker || text.empty() || text.find(' ') != std::string::npos) return std::nullopt;
  const std::vector<std::string> hosts = Split(text, ',');
  const auto workers = static_cast<int64_t>(hosts.size());
  const bool sliced = variables.Has("MEGASCALE_NUM_SLICES");
  const int64_t slices = sliced ? variables.Number("MEGASCALE_NUM_SLICES", 1) : 1;
  const int64_t slice = sliced ? variables.Number("MEGASCALE_SLICE_ID", 0) : 0;
  const std::string chief = variables.Has("MEGASCALE_COORDINATOR_ADDRESS")
                                ? variables.Text("MEGASCALE_COORDINATOR_ADDRESS")
                                : hosts.front();
  if (*worker >= workers || slice >= slices) {
    throw Error(Code::kUsage,
                fmt::format("TPU_WORKER_ID is {} of {} hosts in {}, in slice {} of {}", *worker,
                            workers, list, slice, slices),
                kAlone);
  }
  return ProcessPlace{.launcher = "TPU pod",
                      .read_from = "TPU_WORKER_ID, " + list,
                      .rank = slice * workers + *worker,
                      .size = slices * workers,
                      .coordinator = fmt::format("{}:{}", HostOf(chief), kTpuPort)};
}

Found OpenMpi(const Variables& variables) {
  if (!variables.Has("OMPI_COMM_WORLD_RANK")) return std::nullopt;
  return variables.Counted("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
}

Found Mpich(const Variables& variables) {
  if (!variables.Has("PMI_RANK") || !variables.Has("PMI_SIZE")) return std::nullopt;
  return variables.Counted("MPICH", "PMI_RANK", "PMI_SIZE");
}

// A batch script sees the variables of its allocation but is not a job step: it is a single
// process.
Found SlurmStep(const Variables& variables) {
  const std::string nodes = variables.Text("SLURM_STEP_NODELIST");
  if (!variables.Has("SLURM_STEP_ID") || nodes.empty()) return std::nullopt;
  const char* const tasks =
      variables.Has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  ProcessPlace place = variables.Counted("Slurm", "SLURM_PROCID", tasks);
  const auto hosts = ExpandHostList(nodes);
  if (!hosts) {
    throw Error(
        Code::kUsage,
        fmt::format("SLURM_STEP_NODELIST is '{}'; expected hosts as Slurm lists them", nodes),
        kAlone);
  }
  const int64_t job = WholeNumber<int64_t>(variables.Text("SLURM_JOB_ID")).value_or(0);
  place.coordinator = fmt::format("{}:{}", hosts->front(),
                                  kFirstSlurmPort + std::max<int64_t>(job, 0) % kSlurmPorts);
  return place;
}

// The main node is the chief, whatever its index, and is the only one whose address variable is
// unset.
Found AwsBatch(const Variables& variables) {
  if (!variables.Has("AWS_BATCH_JOB_NUM_NODES")) return std::nullopt;
  ProcessPlace place =
      variables.Counted("AWS Batch", "AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES");
  const int64_t main = variables.Has("AWS_BATCH_JOB_MAIN_NODE_INDEX")
                           ? variables.Number("AWS_BATCH_JOB_MAIN_NODE_INDEX", 0)
                           : 0;
  if (place.rank == main) {
    place.rank = 0;
  } else if (place.rank < main) {
    ++place.rank;
  }
  const std::string chief = variables.Text("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS");
  if (!chief.empty()) place.coordinator = fmt::format("{}:{}", chief, kDefaultPort);
  return place;
}

// The kind of things that a launcher counts. A scheduler allocates machines or tasks; a starter may
// start any number of processes in each. torchrun numbers processes in the order in which they
// join.
enum class Kind { kCounter, kStarter, kScheduler };

struct Launcher {
  Kind kind;
  Found (*find)(const Variables& variables);
};

constexpr Launcher kLaunchers[] = {
    {Kind::kStarter, Torchrun},   {Kind::kCounter, Jax},   {Kind::kCounter, TpuPod},
    {Kind::kStarter, OpenMpi},    {Kind::kStarter, Mpich}, {Kind::kScheduler, SlurmStep},
    {Kind::kScheduler, AwsBatch},
};

struct Claim {
  Kind kind;
  ProcessPlace place;
};

// Whether both claims can be true of one process; `first` is the one that is used.
bool Agree(const Claim& first, const Claim& second) {
  const ProcessPlace& a = first.place;
  const ProcessPlace& b = second.place;
  if (first.kind == Kind::kStarter && second.kind == Kind::kScheduler) return b.size <= a.size;
  if (a.beside > 0 && b.size != a.size) return b.size > a.size && b.size <= a.size + a.beside;
  return a.size == b.size && (a.rank == b.rank || !a.role.empty());
}

std::string ClaimText(const ProcessPlace& place) {
  const std::string who = place.role.empty() ? fmt::format("process {}", place.rank) : place.role;
  return fmt::format("{} of {} by {} ({})", who, place.size, place.launcher, place.read_from);
}

// The place if only TPUEST_NUM_PROCESSES is set.
ProcessPlace PlaceOfSize(const Variables& variables, const std::vector<Claim>& claims) {
  constexpr const char* kSize = "TPUEST_NUM_PROCESSES";
  const int64_t size = variables.Number(kSize, 1);
  if (size == 1) return {};
  if (variables.Has("JOB_COMPLETION_INDEX")) {
    return variables.Counted("indexed Job", "JOB_COMPLETION_INDEX", kSize);
  }
  if (!claims.empty() && claims.front().place.size == size) return claims.front().place;
  if (claims.empty()) {
    throw Error(Code::kUsage,
                fmt::format("{} is {}, but no variable gives the id of this process", kSize, size),
                "set TPUEST_PROCESS_ID to 0, 1, ... in the processes");
  }
  throw Error(Code::kUsage,
              fmt::format("{} is {}; this is {}", kSize, size, ClaimText(claims.front().place)),
              "unset one of them");
}

ProcessPlace Believed(const Variables& variables, const std::vector<Claim>& claims) {
  if (variables.Has("TPUEST_PROCESS_ID")) {
    return variables.Counted("tpuest", "TPUEST_PROCESS_ID", "TPUEST_NUM_PROCESSES");
  }
  if (variables.Has("TPUEST_NUM_PROCESSES")) return PlaceOfSize(variables, claims);
  if (claims.empty()) return {};
  for (const Claim& other : claims) {
    if (&other == &claims.front() || Agree(claims.front(), other)) continue;
    throw Error(Code::kUsage,
                fmt::format("two launchers disagree: this is {}, and {}",
                            ClaimText(claims.front().place), ClaimText(other.place)),
                "unset the variables of one, or say it with TPUEST_PROCESS_ID and "
                "TPUEST_NUM_PROCESSES");
  }
  return claims.front().place;
}

}  // namespace

ProcessPlace PlaceInGroup(const VariableLookup& environment,
                          const std::optional<ProcessPlace>& configured) {
  const Variables variables(environment);
  const bool given =
      variables.Has("TPUEST_PROCESS_ID") || variables.Text("TPUEST_NUM_PROCESSES") == "1";
  std::vector<Claim> claims;
  if (configured) claims.push_back({Kind::kCounter, *configured});
  for (const Launcher& launcher : kLaunchers) {
    if (given) break;  // TPUEST_* variables override all launchers
    if (Found found = launcher.find(variables)) {
      claims.push_back({launcher.kind, *std::move(found)});
    }
  }
  ProcessPlace place = Believed(variables, claims);
  if (variables.Has("TPUEST_COORDINATOR") && place.is_one_of_several()) {
    place.coordinator = variables.Text("TPUEST_COORDINATOR");
  }
  return place;
}

std::string PlaceText(const ProcessPlace& place) {
  if (place.launcher.empty()) return "alone";
  std::string text = place.role.empty() ? fmt::format("process {} of {}", place.rank, place.size)
                                        : fmt::format("{} beside {}", place.role, place.size);
  return text + " by " + place.launcher;
}

std::string CoordinatorText(const ProcessPlace& place) {
  if (!place.is_one_of_several()) return "";
  return place.coordinator.empty() ? "no coordinator known" : "coordinator " + place.coordinator;
}

}  // namespace tpuest::hosts
