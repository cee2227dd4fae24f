#pragma once
// Runs children, so many at a time, and passes on the signals that end them.

#include <cstddef>
#include <functional>
#include <optional>

#include "core/base/child_process.h"

namespace tpuest::cli {

struct PoolTasks {
  // What to do with a task that has not been started: it may wait for a process that is not ours.
  enum class Next { kStart, kSkip, kWait };
  std::function<Next(size_t task)> next;
  std::function<ChildProcess(size_t task)> start;
  std::function<void(size_t task, int exit_code)> ended;
  // Called some times a second.
  std::function<void()> meanwhile;
};

// Tasks 0 to count - 1, begun in this order. SIGINT, SIGTERM and SIGUSR1 go to the children's
// groups as they come, and no more are started; the result is then what this process leaves with:
// 130 or 75, once a second signal came 130 or 143. nullopt: all tasks were run or skipped. The
// signals are blocked meanwhile; no thread may run beside the caller.
[[nodiscard]] std::optional<int> RunPool(size_t count, int at_once, const PoolTasks& tasks);

}  // namespace tpuest::cli
