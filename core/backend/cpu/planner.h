#pragma once
// Third step of compiling for the CPU: gives every node a kernel and every buffer an address before
// the first step runs.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/cpu/exchange/replica_gather.h"
#include "core/backend/cpu/exchange/row_fetch.h"
#include "core/backend/plan.h"
#include "core/backend/schedule.h"
#include "core/backend/stages.h"

namespace tpuest {

// The memory that a buffer may be in. The values are indices into Task::bases.
enum Base : int {
  kAbsolute = 0,  // offset is an address: constants, variables
  kGlobalArena = 1,
  kReplicaArena = 2,
  kBlockArena = 3,
  kParts = 4,     // of the block at hand
  kSums = 5,      // kParts of the replica's first block, where the parts are added
  kFirstFeed = 6  // one base per feed
};

// Adds arrays in the fixed binary tree: over the blocks of a replica, over replicas, or both.
struct SumJob {
  Buffer in;
  Buffer out;
  int64_t elements = 0;
  DType dtype = DType::kFloat;
  bool over_blocks = false;
  bool over_replicas = false;
  // For a sum over replicas whose terms a kBlock phase computes: that phase, and per variant the
  // number of kernels after which a block's term is complete. -1: the terms are complete at the end
  // of the phase.
  int block_phase = -1;
  std::vector<size_t> whole_after = {};
};

struct PhasePlan {
  Level level = Level::kGlobal;
  PhaseFetches fetches;  // done first
  // kBlock: after the kernels; kGlobal: before them, in the order in which their terms are
  // complete.
  std::vector<SumJob> sums;
  std::vector<GatherJob> gathers;  // kGlobal: before the kernels
  // kBlock: [variant][i], one variant per number of rows that a run may have.
  std::vector<int64_t> variant_rows;
  std::vector<std::vector<Kernel>> kernels;
  StagedWork work;                 // the other levels
  std::vector<Kernel> after_sums;  // kBlock: once per replica, after its parts are added
};
// Whether the phase writes variables.
[[nodiscard]] inline bool IsOfUpdates(const PhasePlan& phase) {
  return phase.level >= Level::kRowUpdate;
}

// A variable that updates write, with the bounds within which no update can overflow (UpdateGate).
struct WrittenVariable {
  std::string name;
  void* memory = nullptr;
  DType dtype = DType::kFloat;
  int64_t elements = 0;
  double least = 0;
  double most = 0;
};

// A tensor that an update reads, with the bounds within which the update cannot overflow
// (UpdateGate).
struct UpdateInput {
  Buffer buffer;
  DType dtype = DType::kFloat;
  int64_t elements = 0;
  double least = 0;
  double most = 0;
};

// A centered RMSProp, which divides by sqrt(ms - mg^2 + epsilon) of its next ms and mg: UpdateGate
// checks the radicand.
struct CenteredUpdate {
  const void* ms = nullptr;
  const void* mg = nullptr;
  Buffer grad;
  Buffer rho;
  Buffer epsilon;
  Buffer indices;  // id -1: the gradient covers every row
  DType dtype = DType::kFloat;
  DType index_dtype = DType::kInt64;
  int64_t variable_rows = 1;
  int64_t rows = 1;  // of the gradient
  int64_t width = 0;
};

struct CpuPlan {
  std::vector<PhasePlan> phases;
  // The weights of the tables that updates write, without duplicates, in graph order.
  std::vector<const RowColumn*> tables;
  bool shares_tables =
      false;  // at least one of `tables` is shared with other processes (row_owners.h)
  bool counts_rows = false;  // at least one table counts its rows
  std::vector<Task::Location> locations;
  size_t global_bytes = 0;
  size_t replica_bytes = 0;  // of each replica
  size_t block_bytes = 0;    // of each thread
  size_t parts_bytes = 0;    // of each block of each replica
  size_t constant_bytes = 0;
  std::vector<Buffer> fetches;
  Buffer guard;
  // For a program with a guard: what its updates write, in graph order, and read.
  std::vector<WrittenVariable> written;
  std::vector<UpdateInput> update_inputs;
  std::vector<CenteredUpdate> centered;
  bool updates_are_bounded = true;  // false: an update may overflow even within the bounds
};

// Adds variables that are missing in the store, as zeros; the plan holds the variables' addresses.
// Throws kUsage, with the node's place, for an op without a CPU kernel.
[[nodiscard]] CpuPlan PlanProgram(const BoundGraph& bound, const Schedule& schedule,
                                  const CompileOptions& options, VariableStore& variables);

}  // namespace tpuest
