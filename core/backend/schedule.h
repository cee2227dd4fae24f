#pragma once
// Second step of compiling for the CPU: says what is computed for each block of rows, each replica,
// or once, and in what order. (Lowering asks it what is cut into rows.)
//
// Time runs in phases. All blocks of all replicas run a kBlock phase in parallel, one thread a
// block; then parts of sums over rows are added; then all replicas run the kReplica phase; then the
// kGlobal phase runs once. Variables are written when nothing that read their old value is left to
// do: rows of tables in a kRowUpdate phase, which has all that is computed for them alone, so that
// a row is still in the cache when it is written; all else in a kUpdate phase.

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
  // What computes each row by itself that a node of its lane has filled up (OpDef::fills_rows):
  // that node, and the inputs that have a row for each of its. nullptr: it computes all.
  const Node* filled_by = nullptr;
  std::vector<bool> filled_inputs;
  int phase = -1;  // index into Schedule::phases; -1: a source, there from the start
};

struct Phase {
  Level level = Level::kGlobal;
  int64_t run_rows = 0;  // kBlock: a block's rows are computed so many at a time, in their order
  std::vector<Node*> nodes;  // in graph order; but for kBlock by stages, then in graph order
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
  // The numbers of rows that a run of a phase may have: whole runs, what is left of a block, and of
  // the last block, which may be smaller.
  [[nodiscard]] std::vector<int64_t> RunSizesOf(const Phase& phase) const;
};

struct ScheduleOptions {
  int replicas = 1;
  bool cut_rows = true;
  std::vector<bool> cut_feeds;  // as BoundGraph::feeds
  // By id; none: no node.
  // Lookups of rows which other processes have (cpu/row_fetch.h): what needs neither them nor what
  // they look at comes between the two, so that rows are on their way meanwhile.
  std::vector<bool> asks = {};
  // Lookups that may do so in a group. Where rows are heavy all are such, so that the phases, and
  // with them the runs of a block, are those of the group.
  std::vector<bool> may_ask = {};
  // Updates of rows that can be taken back.
  std::vector<bool> row_updates = {};
};

// Blocks have at most this many rows; how many follows from the graph and the batch alone. Where a
// row takes many operations (a large image in a deep network) they have fewer.
inline constexpr int64_t kMaxBlockRows = 64;
inline constexpr int64_t kMaxHeavyRows = 16;
inline constexpr int64_t kHeavyRowFlops = int64_t{1} << 27;
// Rows of a run, if rows are heavy: no value of the phase has more bytes in it, so that what one
// node leaves is still in the cache when the next one reads it.
inline constexpr int64_t kRunBytes = int64_t{1} << 20;

// Error kUsage: feeds that are cut have different numbers of rows, or none; an update writes a
// value that differs between replicas.
[[nodiscard]] Schedule ScheduleGraph(const BoundGraph& bound, const ScheduleOptions& options);

// True for ops that write variables.
[[nodiscard]] inline bool IsUpdate(const Node& node) { return node.op().writes && !node.op().host; }

}  // namespace tpuest
