#include "cli/many/sweep/trial_pool.h"

#include <csignal>
#include <ctime>
#include <deque>
#include <map>

#include "core/base/error.h"
#include "core/base/process/interrupt.h"

namespace tpuest::cli {
namespace {

// The time between two looks at a task that waits for a foreign process, and between two displays.
constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = 50'000'000};

// Signals wait here until they are fetched, so that none is missed between a look and a wait.
class FetchedSignals {
 public:
  FetchedSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals_, signal);
    // Under nohup it stays ignored; blocked it would be fetched all the same.
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) sigaddset(&signals_, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~FetchedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  FetchedSignals(const FetchedSignals&) = delete;
  FetchedSignals& operator=(const FetchedSignals&) = delete;

  // Waits for the next signal; -1 where none came in time, or a foreign one was handled.
  [[nodiscard]] int Next() const { return sigtimedwait(&signals_, nullptr, &kLookAgain); }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

class Pool {
 public:
  Pool(size_t count, int at_once, const PoolTasks& tasks)
      : at_once_(static_cast<size_t>(at_once)), tasks_(tasks) {
    for (size_t task = 0; task < count; ++task) waiting_.push_back(task);
  }

  std::optional<int> Run() {
    try {
      while (true) {
        if (!stopped_) StartWhatCan();
        if (children_.empty() && (stopped_ || waiting_.empty())) return stopped_;
        tasks_.meanwhile();
        Handle(signals_.Next());
      }
    } catch (...) {
      PassOn(SIGTERM);
      while (!children_.empty()) Handle(signals_.Next());
      throw;
    }
  }

 private:
  void StartWhatCan() {
    std::deque<size_t> held;
    while (!waiting_.empty() && children_.size() < at_once_) {
      const size_t task = waiting_.front();
      waiting_.pop_front();
      const PoolTasks::Next next = tasks_.next(task);
      if (next == PoolTasks::Next::kWait) held.push_back(task);
      if (next == PoolTasks::Next::kStart) children_.emplace(task, tasks_.start(task));
    }
    waiting_.insert(waiting_.begin(), held.begin(), held.end());
  }

  void Handle(int signal) {
    if (signal < 0) return;
    if (signal == SIGCHLD) return Reap();
    const auto interrupted = static_cast<int>(Code::kInterrupted);
    const int first = signal == SIGINT ? interrupted : static_cast<int>(Code::kPreempted);
    const int second = signal == SIGINT ? interrupted : kTerminatedCode;
    stopped_ = stopped_ ? second : first;
    PassOn(signal);
  }

  // One SIGCHLD may stand for several children.
  void Reap() {
    for (auto child = children_.begin(); child != children_.end();) {
      const std::optional<ProcessEnd> end = child->second.Poll();
      if (!end) {
        ++child;
        continue;
      }
      const size_t task = child->first;
      child = children_.erase(child);
      tasks_.ended(task, end->ShellCode());
    }
  }

  void PassOn(int signal) const {
    for (const auto& [task, child] : children_) child.Signal(signal);
  }

  FetchedSignals signals_;
  size_t at_once_;
  const PoolTasks& tasks_;
  std::deque<size_t> waiting_;
  std::map<size_t, ChildProcess> children_;  // children that run, by task
  std::optional<int> stopped_;
};

}  // namespace

std::optional<int> RunPool(size_t count, int at_once, const PoolTasks& tasks) {
  return Pool(count, at_once, tasks).Run();
}

}  // namespace tpuest::cli
