#pragma once
// Third step of compiling for the CPU: every node gets a kernel and every buffer a place, before
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

// The memory that a buffer id may stand in; the numbers are indices into Task::bases.
enum Base : int {
  kAbsolute = 0,  // offset is an address: constants, variables
  kGlobalArena = 1,
  kReplicaArena = 2,
  kBlockArena = 3,
  kParts = 4,     // of the block at hand
  kSums = 5,      // kParts of the replica's first block, where the parts are added
  kFirstFeed = 6  // one each
};

// Adds arrays in the fixed binary tree: over the blocks of a replica, over replicas, or both.
struct SumJob {
  Buffer in;
  Buffer out;
  int64_t elements = 0;
  DType dtype = DType::kFloat;
  bool over_blocks = false;
  bool over_replicas = false;
  // Of a sum over replicas whose terms a kBlock phase makes: that phase, and by variant how many of
  // its kernels have run when a block's term is whole. -1: they are there when it is over.
  int block_phase = -1;
  std::vector<size_t> whole_after = {};
};

struct PhasePlan {
  Level level = Level::kGlobal;
  PhaseFetches fetches;  // before all else
  // kBlock: after the kernels; kGlobal: before them, in the order in which their terms are whole.
  std::vector<SumJob> sums;
  std::vector<GatherJob> gathers;  // kGlobal: before the kernels
  // kBlock: [variant][i], a variant for each number of rows that a run may have.
  std::vector<int64_t> variant_rows;
  std::vector<std::vector<Kernel>> kernels;
  StagedWork work;                 // the other levels
  std::vector<Kernel> after_sums;  // kBlock: once a replica, when its parts are added
};
// Whether variables are written in it.
[[nodiscard]] inline bool IsOfUpdates(const PhasePlan& phase) {
  return phase.level >= Level::kRowUpdate;
}

// A variable that updates write, with the bounds within which UpdateGate is sure.
struct WrittenVariable {
  std::string name;
  void* memory = nullptr;
  DType dtype = DType::kFloat;
  int64_t elements = 0;
  double least = 0;
  double most = 0;
};

// A tensor that an update takes, with the bounds within which UpdateGate is sure.
struct UpdateInput {
  Buffer buffer;
  DType dtype = DType::kFloat;
  int64_t elements = 0;
  double least = 0;
  double most = 0;
};

// A centered RMSProp, which divides by sqrt(ms - mg^2 + epsilon) of its next ms and mg: UpdateGate
// looks at what stands below the root.
struct CenteredUpdate {
  const void* ms = nullptr;
  const void* mg = nullptr;
  Buffer grad;
  Buffer rho;
  Buffer epsilon;
  Buffer indices;  // id -1: the gradient is of every row
  DType dtype = DType::kFloat;
  DType index_dtype = DType::kInt64;
  int64_t variable_rows = 1;
  int64_t rows = 1;  // of the gradient
  int64_t width = 0;
};

struct CpuPlan {
  std::vector<PhasePlan> phases;
  // The weights of those that updates write, each once, in the order of the graph.
  std::vector<const RowColumn*> tables;
  bool shares_tables = false;  // with other processes (row_owners.h): one of these at least
  bool counts_rows = false;    // of tables
  std::vector<Task::Location> locations;
  size_t global_bytes = 0;
  size_t replica_bytes = 0;  // of each replica
  size_t block_bytes = 0;    // of each thread
  size_t parts_bytes = 0;    // of each block of each replica
  size_t constant_bytes = 0;
  std::vector<Buffer> fetches;
  Buffer guard;
  // Of a program with a guard: what its updates write, in the order of the graph, and read.
  std::vector<WrittenVariable> written;
  std::vector<UpdateInput> update_inputs;
  std::vector<CenteredUpdate> centered;
  bool updates_are_bounded = true;  // false: within the bounds an update may overflow all the same
};

// Variables that are not in the store yet are added to it, as zeros; the plan holds their
// addresses. Error kUsage, with the node's place, for an op without a CPU kernel.
[[nodiscard]] CpuPlan PlanProgram(const BoundGraph& bound, const Schedule& schedule,
                                  const CompileOptions& options, VariableStore& variables);

}  // namespace tpuest
