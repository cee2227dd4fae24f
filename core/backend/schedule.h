#pragma once
// Second step of compiling for the CPU: decides which nodes run per block of rows, per replica or
// once, and in which order. (Lowering to StableHLO only uses which values are cut into rows.)
//
// A step runs in phases. All blocks of all replicas run a kBlock phase in parallel, one thread per
// block; then parts of sums over rows are added; then all replicas run the kReplica phase; then the
// kGlobal phase runs once. Variables are written after everything that reads their old values. Rows
// of tables are written in a kRowUpdate phase, which also holds the nodes that only these updates
// need, so that a row is still in the cache when it is written; all other updates run in a kUpdate
// phase.

#include <cstdint>
#include <vector>

#include "core/backend/bind.h"

namespace tpuest {

enum class Level : int { kBlock = 0, kReplica = 1, kGlobal = 2, kRowUpdate = 3, kUpdate = 4 };

struct NodeSchedule {
  bool needed = false;
  Level level = Level::kGlobal;         // where it runs
  Level result_level = Level::kGlobal;  // where its results are: parts become kReplica
  Rows rows = Rows::kWhole;
  std::vector<bool> cut_inputs;  // read by rows
  int stage = 0;                 // within its phase (stages.h); 0 in a kBlock phase
  int lane = -1;                 // within its stage; -1: it runs by itself
  // For a node that computes row by row on the output of a row-filling node of its lane
  // (OpDef::fills_rows): that node, and which inputs have one row per filled row. nullptr: it
  // computes all rows.
  const Node* filled_by = nullptr;
  std::vector<bool> filled_inputs;
  int phase = -1;  // index into Schedule::phases; -1: a source, there from the start
};

struct Phase {
  Level level = Level::kGlobal;
  int64_t run_rows = 0;  // kBlock: number of a block's rows that are computed together, in order
  std::vector<Node*> nodes;  // kBlock: in graph order; otherwise by stages, then in graph order
};

struct Schedule {
  int64_t batch_rows = 0;           // rows of a replica's batch; 0: nothing is cut
  int64_t block_rows = 0;           // rows of every block but the last
  int64_t blocks = 1;               // per replica
  std::vector<NodeSchedule> nodes;  // by id
  std::vector<Phase> phases;        // phases[0] is the prologue: layouts derived from sources

  [[nodiscard]] int64_t RowsOf(int64_t block) const {
    return block + 1 < blocks ? block_rows : batch_rows - block * block_rows;
  }
  // The numbers of rows that a run of a phase may have: those of a whole run, of the rest of a
  // block, and of the rest of the last block, which may be smaller.
  [[nodiscard]] std::vector<int64_t> RunSizesOf(const Phase& phase) const;
};

struct ScheduleOptions {
  int replicas = 1;
  bool cut_rows = true;
  std::vector<bool> cut_feeds;  // as BoundGraph::feeds
  // Sets of nodes, by id; empty: no node.
  // Lookups that fetch remote rows (cpu/exchange/row_fetch.h). Nodes that need neither the rows nor
  // their indices are scheduled while the rows are on their way.
  std::vector<bool> asks = {};
  // Lookups that would do so in a group. If rows are heavy, these are scheduled like `asks`, so
  // that the phases, and with them the runs of a block, do not depend on the number of processes.
  std::vector<bool> may_ask = {};
  // Row updates that can be rolled back.
  std::vector<bool> row_updates = {};
};

// Maximum rows of a block. The size depends only on the graph and the batch, and is smaller if a
// row takes many operations (a large image in a deep network).
inline constexpr int64_t kMaxBlockRows = 64;
inline constexpr int64_t kMaxHeavyRows = 16;
inline constexpr int64_t kHeavyRowFlops = int64_t{1} << 27;
// Maximum bytes of any value of a run, if rows are heavy, so that the output of one node is still
// in the cache when the next one reads it.
inline constexpr int64_t kRunBytes = int64_t{1} << 20;

// Error kUsage: feeds that are cut have different numbers of rows, or none; an update writes a
// value that differs between replicas.
[[nodiscard]] Schedule ScheduleGraph(const BoundGraph& bound, const ScheduleOptions& options);

// True for ops that write variables.
[[nodiscard]] inline bool IsUpdate(const Node& node) { return node.op().writes && !node.op().host; }

}  // namespace tpuest
