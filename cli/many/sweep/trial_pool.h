#pragma once
// Runs child processes, so many at a time, and passes on the signals that end them.

#include <cstddef>
#include <functional>
#include <optional>

#include "core/base/process/child_process.h"

namespace tpuest::cli {

// The callbacks of a pool; all are called in the thread of RunPool.
struct PoolTasks {
  // The answer for a task that has not been started: kWait where a process that is not ours runs
  // it.
  enum class Next { kStart, kSkip, kWait };
  std::function<Next(size_t task)> next;
  std::function<ChildProcess(size_t task)> start;
  std::function<void(size_t task, int exit_code)> ended;
  // Called about twenty times a second.
  std::function<void()> meanwhile;
};

// Runs tasks 0 to count - 1, begun in this order, at most `at_once` at a time. SIGINT, SIGTERM and
// SIGUSR1 go to the children's groups as they come, and no more are started; the result is then the
// exit code of this process: 130 or 75, once a second signal came 130 or 143. nullopt: all tasks
// were run or skipped. `ended` gets 128 + n for a child that signal n killed. The signals are
// blocked meanwhile; no thread may run beside the caller.
[[nodiscard]] std::optional<int> RunPool(size_t count, int at_once, const PoolTasks& tasks);

}  // namespace tpuest::cli
