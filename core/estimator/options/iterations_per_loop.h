#pragma once
// TPUConfig's iterations_per_loop: the number of steps in a loop.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>

#include "core/base/log.h"

namespace tpuest {

// The option as written: 100; "100", "300s", "10m", "1h"; "auto".
using IterationsPerLoop = std::variant<int64_t, std::string>;

// The parsed option: a number of steps, a time, or auto.
struct IterationsPerLoopCounter {
  enum class Unit { kCount, kSeconds, kAuto };
  int64_t value = 1;  // steps or seconds; 0 for kAuto
  Unit unit = Unit::kCount;
  bool operator==(const IterationsPerLoopCounter&) const = default;
};

// Parses the option; nullopt for a value that TensorFlow does not accept. "auto" is accepted as
// well.
[[nodiscard]] std::optional<IterationsPerLoopCounter> ParseIterationsPerLoop(
    const IterationsPerLoop& value);
// The largest number of steps that a device gets at once.
[[nodiscard]] int64_t StepsPerCall(const IterationsPerLoopCounter& counter);

// TensorFlow's IterationCountEstimator: how many steps fit into a time, estimated from the last
// `capacity` loops. Its first answer is 1; the answer stays once the times per step and per loop
// are stable.
class IterationCountEstimator {
 public:
  explicit IterationCountEstimator(size_t capacity = 20) : capacity_(capacity) {}
  // Records that a loop of `count` steps took runtime_secs; ignores a loop if either is not
  // positive.
  void Update(double runtime_secs, int64_t count);
  // Returns the number of steps that fit into total_secs. Throws Error kUsage if that is not
  // positive.
  [[nodiscard]] int64_t Get(double total_secs);
  // TensorFlow's log line about the last answer; empty without samples.
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  struct Sample {
    double runtime_secs = 0;
    int64_t steps = 0;
    double step_secs = 0;
  };
  size_t capacity_;
  std::deque<Sample> samples_;
  size_t sample_count_ = 0;
  double last_iterations_ = 1;
  std::string message_;
};

// The length of each loop of a run. `period`: number of steps between two polls of a hook
// (SessionRunHook::Period); 0: no hook needs one.
class LoopLength {
 public:
  LoopLength(const IterationsPerLoopCounter& counter, int64_t period, Log& log)
      : counter_(counter), period_(period), log_(log) {}

  // Returns the number of steps of the loop that starts at this global step. kAuto ends loops at
  // multiples of the period, or earlier if that is more than about 5 s away.
  [[nodiscard]] int64_t Next(int64_t global_step);
  // Records that the loop of `steps` steps took `seconds`.
  void Ran(double seconds, int64_t steps);

 private:
  IterationsPerLoopCounter counter_;
  int64_t period_;
  Log& log_;
  IterationCountEstimator estimator_;
};

}  // namespace tpuest
