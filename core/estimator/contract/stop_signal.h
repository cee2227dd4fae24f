#pragma once
// A request that a running train, evaluate or predict ends, made by a signal handler or another
// thread.

#include <atomic>

namespace tpuest {

class StopSignal {
 public:
  enum class Kind : int {
    kNone = 0,
    kPreempted = 1,   // SIGTERM, SIGUSR1: saves, exit code 75
    kInterrupted = 2  // Ctrl-C: saves, exit code 130
  };

  // Makes the request; the first one is kept. Async-signal-safe, any thread.
  void Request(Kind kind) noexcept {
    Kind none = Kind::kNone;
    kind_.compare_exchange_strong(none, kind);
  }
  [[nodiscard]] Kind kind() const noexcept { return kind_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool requested() const noexcept { return kind() != Kind::kNone; }

 private:
  static_assert(std::atomic<Kind>::is_always_lock_free);
  std::atomic<Kind> kind_{Kind::kNone};
};

}  // namespace tpuest
