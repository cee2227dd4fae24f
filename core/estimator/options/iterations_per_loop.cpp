#include "core/estimator/options/iterations_per_loop.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace tpuest {
namespace {

using Unit = IterationsPerLoopCounter::Unit;

// The longest time that hooks of a run with kAuto wait.
constexpr double kAutoSeconds = 5;

// The most steps per call if loops have no fixed length.
constexpr int64_t kStepsPerCall = 1000;

// A standard deviation below 0.03 s is TensorFlow's bound for a stable step time.
constexpr double kStableStepSecs = 0.03;

bool IsWithin(double actual, double target, double fraction) {
  return std::abs(target - actual) / target <= fraction;
}

}  // namespace

std::optional<IterationsPerLoopCounter> ParseIterationsPerLoop(const IterationsPerLoop& value) {
  if (const auto* const count = std::get_if<int64_t>(&value)) {
    if (*count <= 0) return std::nullopt;
    return IterationsPerLoopCounter{*count, Unit::kCount};
  }
  const std::string& text = std::get<std::string>(value);
  if (text == "auto") return IterationsPerLoopCounter{0, Unit::kAuto};
  int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || number <= 0 || text.front() == '0') return std::nullopt;
  const std::string suffix(end, text.data() + text.size());
  if (suffix.empty()) return IterationsPerLoopCounter{number, Unit::kCount};
  const int64_t seconds = suffix == "s" ? 1 : suffix == "m" ? 60 : suffix == "h" ? 3600 : 0;
  if (seconds == 0 || number > std::numeric_limits<int64_t>::max() / seconds) return std::nullopt;
  return IterationsPerLoopCounter{number * seconds, Unit::kSeconds};
}

int64_t StepsPerCall(const IterationsPerLoopCounter& counter) {
  return counter.unit == Unit::kCount ? counter.value : kStepsPerCall;
}

void IterationCountEstimator::Update(double runtime_secs, int64_t count) {
  if (runtime_secs <= 0 || count <= 0) return;
  if (samples_.size() >= capacity_) samples_.pop_front();
  samples_.push_back({runtime_secs, count, runtime_secs / static_cast<double>(count)});
  ++sample_count_;
}

int64_t IterationCountEstimator::Get(double total_secs) {
  if (total_secs <= 0) {
    throw Error(
        Code::kUsage,
        fmt::format("Invalid `total_secs`. It must be positive number. Actual:{}", total_secs));
  }
  if (samples_.empty()) return 1;
  const auto count = static_cast<double>(samples_.size());
  double mean_runtime = 0;
  double mean_step = 0;
  for (const Sample& sample : samples_) {
    mean_runtime += sample.runtime_secs / count;
    mean_step += sample.step_secs / count;
  }
  double variance = 0;
  for (const Sample& sample : samples_) {
    variance += (sample.step_secs - mean_step) * (sample.step_secs - mean_step) / count;
  }
  const Sample& last = samples_.back();
  const bool is_near =
      IsWithin(last.runtime_secs, total_secs, 0.10) || IsWithin(mean_runtime, total_secs, 0.05);
  const bool is_stable = std::sqrt(variance) < kStableStepSecs && sample_count_ > capacity_;
  const double delta = is_near && is_stable ? 0 : total_secs / mean_step - last_iterations_;
  last_iterations_ = std::max(last_iterations_ + delta, 1.0);
  message_ = fmt::format(
      "IterationCountEstimator -- target_runtime:{:.3f}s. last_runtime:{:.3f}s. "
      "mean_runtime:{:.3f}s. last_step_time:{:.3f}. std_step_time:{:.3f}. mean_step_time:{:.3f}s. "
      "delta_steps:{:.2f}. prev_steps:{:.2f}. next_steps:{:.2f}.",
      total_secs, last.runtime_secs, mean_runtime, last.step_secs, std::sqrt(variance), mean_step,
      delta, static_cast<double>(last.steps), last_iterations_);
  constexpr double kMost = 1e15;  // far below the maximum of int64
  return std::lround(std::min(last_iterations_, kMost));
}

int64_t LoopLength::Next(int64_t global_step) {
  if (counter_.unit == Unit::kCount) return counter_.value;
  if (counter_.unit == Unit::kSeconds) {
    const int64_t steps = estimator_.Get(static_cast<double>(counter_.value));
    if (!estimator_.message().empty()) log_.Info("{}", estimator_.message());
    return steps;
  }
  const int64_t most = estimator_.Get(kAutoSeconds);
  return period_ > 0 ? std::min(most, period_ - global_step % period_) : most;
}

void LoopLength::Ran(double seconds, int64_t steps) {
  if (counter_.unit == Unit::kSeconds) log_.Info("ElapsedTime: {:.3f}", seconds);
  estimator_.Update(seconds, steps);
}

}  // namespace tpuest
