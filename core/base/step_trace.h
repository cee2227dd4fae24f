#pragma once
// A trace of one step: one event per kernel run, with its thread and times.

#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"

namespace tpuest {

class StepTrace {
 public:
  explicit StepTrace(const Clock& clock) : clock_(clock) {}

  struct Event {
    std::string name;  // of the node
    std::string op;
    int thread = 0;
    double begin = 0;  // Clock::Seconds
    double end = 0;
  };

  [[nodiscard]] double Now() const { return clock_.Seconds(); }
  // Any thread may call this.
  void Add(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  // The events of a finished step; no thread may still be adding events.
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  void Clear() { events_.clear(); }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace tpuest
