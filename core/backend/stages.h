#pragma once
// Phases that run once (or once a replica) are made of stages, which the step threads may share:
// the kernels of a stage do not depend on each other, but for those of a lane, which one thread
// runs one after the other.
//
//   stage 0   apply a │ gather b ─▶ square ─▶ ... ─▶ scatter b │ gather c ─▶ ... ─▶ scatter c
//   stage 1   apply step

#include <climits>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/backend/plan.h"
#include "core/backend/schedule.h"

namespace tpuest {

// Sets NodeSchedule::stage and lane, and brings the nodes of each phase but kBlock ones into the
// order of their stages: after what they read in the phase, after their control inputs, and updates
// of one variable in graph order. A phase whose results are large is taken apart into runs of
// strands that do not read each other; a strand that is large alone keeps a stage for each node. So
// results may follow each other in the same memory. Strands that are small, such as the updates of
// a batch's rows of tables, are lanes where there are several: what one node leaves is still in the
// cache when the next one reads it.
void FindStages(Schedule& schedule);

// Results of stages that may all be there at once, in bytes, beyond which they are large.
inline constexpr int64_t kLargePhaseBytes = int64_t{16} << 20;
// Results of a strand that is a lane, at most: what a core's own cache holds.
inline constexpr int64_t kLaneBytes = int64_t{2} << 20;

// One kernel of a stage.
struct Work {
  Kernel kernel;
  RangeKernel ranges;    // the same in ranges of `elements`, or empty
  int64_t elements = 0;  // of the ranges
  int64_t cost = 0;      // elements read and written
  bool alone = false;    // may not run beside others
  // Of rows that are filled up (NodeSchedule::filled_by): it runs where there are more than `least`
  // and at most `most`, which is how many it computes.
  Buffer count = {};  // int64; id -1: it runs in any case
  int64_t least = 0;
  int64_t most = 0;

  [[nodiscard]] bool RunsIn(const Task& task) const {
    if (count.id < 0) return true;
    const int64_t rows = *task.At<const int64_t>(count);
    return rows > least && rows <= most;
  }
};

// A part of a stage's work: all of it, or a range.
struct WorkPart {
  const Work* work = nullptr;
  int64_t begin = 0;
  int64_t end = 0;

  void Run(const Task& task) const {
    if (!work->RunsIn(task)) return;
    if (work->ranges == nullptr) return work->kernel(task);
    work->ranges(task, begin, end);
  }
};

// What one thread runs, in its order.
using WorkParts = std::vector<WorkPart>;

// The tasks of a stage run one after the other on one thread, or in any order on all of them.
struct Stage {
  std::vector<WorkParts> tasks;
  bool shared = false;
};

// The work of a phase in the making.
class StagedWork {
 public:
  // Three places for kernels that no node asked for by itself: before all stages, before the others
  // of a node's stage, and behind all of them.
  void AddFirst(Kernel kernel) { Add(-1, -1, {.kernel = std::move(kernel), .alone = true}); }
  void AddBefore(int stage, Kernel kernel) {
    Add(2 * stage, -1, {.kernel = std::move(kernel), .alone = true});
  }
  void AddLast(Kernel kernel) { Add(INT_MAX, -1, {.kernel = std::move(kernel), .alone = true}); }
  // Work of a lane stands behind what that lane has; lane -1 is none.
  void AddNode(int stage, int lane, Work work) { Add(2 * stage + 1, lane, std::move(work)); }

  // The stages in their order, for so many threads; points into this object.
  [[nodiscard]] std::vector<Stage> Stages(int threads) const;

 private:
  struct Lane {
    int number = -1;
    std::vector<Work> works;
  };

  void Add(int key, int lane, Work work);
  [[nodiscard]] static bool PaysShared(const std::vector<Lane>& lanes);

  std::map<int, std::vector<Lane>> lanes_;        // by stage, and what stands before and behind
  std::map<std::pair<int, int>, size_t> places_;  // of the lanes that have a number, by their key
};

}  // namespace tpuest
