#pragma once
// Runs a limited number of child processes at a time, and passes stop signals on to them.

#include <cstddef>
#include <functional>
#include <optional>

#include "core/base/process/child_process.h"

namespace tpuest::cli {

// The callbacks of a pool; all are called in the thread of RunPool.
struct PoolTasks {
  // The answer for a task that has not been started: kWait if another process runs it.
  enum class Next { kStart, kSkip, kWait };
  std::function<Next(size_t task)> next;
  std::function<ChildProcess(size_t task)> start;
  std::function<void(size_t task, int exit_code)> ended;
  // Called about twenty times a second.
  std::function<void()> meanwhile;
};

// Runs tasks 0 to count - 1, begun in this order, at most `at_once` at a time. SIGINT, SIGTERM and
// SIGUSR1 are passed on to the children's groups, and no more tasks are started; the result is then
// the exit code of this process: 130 or 75, after a second signal 130 or 143. nullopt: all tasks
// were run or skipped. `ended` gets 128 + n for a child that signal n killed. The signals are
// blocked meanwhile; no other thread may run.
[[nodiscard]] std::optional<int> RunPool(size_t count, int at_once, const PoolTasks& tasks);

}  // namespace tpuest::cli
