#pragma once
// Phases that run once (or once per replica) consist of stages, which the step threads may share.
// The kernels of a stage do not depend on each other, except those of a lane, which one thread runs
// in order.
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

// Sets NodeSchedule::stage and lane, and sorts the nodes of each phase except kBlock ones by their
// stages: after the nodes that they read in the phase, after their control inputs, and updates of
// one variable in graph order. A phase whose results are large is split into groups of tasks
// (chains of nodes) that do not read each other, so that results can reuse memory; a task that is
// large by itself keeps one stage per node. Several small tasks, such as the updates of a batch's
// rows of tables, become lanes: the output of one node is still in the cache when the next one
// reads it.
void FindStages(Schedule& schedule);

// Bytes of results that may exist at the same time; a phase with more is large.
inline constexpr int64_t kLargePhaseBytes = int64_t{16} << 20;
// Maximum bytes of results of a task that becomes a lane: the size of a core's own cache.
inline constexpr int64_t kLaneBytes = int64_t{2} << 20;

// One kernel of a stage.
struct Work {
  Kernel kernel;
  RangeKernel ranges;    // the same kernel for ranges of `elements`, or empty
  int64_t elements = 0;  // of the ranges
  int64_t cost = 0;      // elements read and written
  bool alone = false;    // may not run beside others
  // For filled rows (NodeSchedule::filled_by): the kernel computes `most` rows, and runs if `count`
  // is greater than `least` and at most `most`.
  Buffer count = {};  // int64; id -1: always runs
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

// The work of one task, in order.
using WorkParts = std::vector<WorkPart>;

// The tasks of a stage run in order on one thread or, if it is shared, in any order on all threads.
struct Stage {
  std::vector<WorkParts> tasks;
  bool shared = false;
};

// Collects the work of a phase.
class StagedWork {
 public:
  // Adds kernels that belong to no node: before all stages, before the other kernels of a stage,
  // and after all stages.
  void AddFirst(Kernel kernel) { Add(-1, -1, {.kernel = std::move(kernel), .alone = true}); }
  void AddBefore(int stage, Kernel kernel) {
    Add(2 * stage, -1, {.kernel = std::move(kernel), .alone = true});
  }
  void AddLast(Kernel kernel) { Add(INT_MAX, -1, {.kernel = std::move(kernel), .alone = true}); }
  // Adds the work of a node to its stage, after the earlier work of its lane; lane -1 is no lane.
  void AddNode(int stage, int lane, Work work) { Add(2 * stage + 1, lane, std::move(work)); }

  // The stages in order, for `threads` threads. They point into this object.
  [[nodiscard]] std::vector<Stage> Stages(int threads) const;

 private:
  struct Lane {
    int number = -1;
    std::vector<Work> works;
  };

  void Add(int key, int lane, Work work);
  [[nodiscard]] static bool PaysShared(const std::vector<Lane>& lanes);

  std::map<int, std::vector<Lane>> lanes_;        // by stage, with the kernels before and after
  std::map<std::pair<int, int>, size_t> places_;  // of numbered lanes, by their key
};

}  // namespace tpuest
