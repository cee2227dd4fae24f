#include "core/estimator/train/group_waits.h"

#include <algorithm>

#include "core/base/text.h"

namespace tpuest {
namespace {

std::string PercentOf(double part, double seconds) {
  return fmt::format("{:.0f}%", seconds > 0 ? std::clamp(100 * part / seconds, 0.0, 100.0) : 0.0);
}

}  // namespace

void GroupWaitsHook::AfterCreateSession(const SessionInfo& /*session*/) { Begin(clock_.Seconds()); }

void GroupWaitsHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  bool is_due = false;
  for (const StepRecord& record : values.steps) {
    input_wait_ += record.input_wait;
    is_due = is_due || record.step % every_ == 0;
  }
  if (!is_due) return;
  const double now = values.steps.back().seconds;
  Report(now - begin_);
  Begin(now);
}

void GroupWaitsHook::Report(double seconds) {
  std::vector<std::string> waits{PercentOf(input_wait_, seconds) + " for the input"};
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    const auto i = static_cast<size_t>(rank);
    waits.push_back(fmt::format("{} for {}, which waited {} for its own",
                                PercentOf(group_.waited_for()[i] - waited_for_[i], seconds),
                                group_.NameOf(rank),
                                PercentOf(group_.InputWaitOf(rank) - inputs_[i], seconds)));
  }
  log_.Info("waited {}", Join(waits, "; "));
}

void GroupWaitsHook::Begin(double now) {
  begin_ = now;
  input_wait_ = 0;
  waited_for_ = group_.waited_for();
  inputs_.clear();
  for (int rank = 0; rank < group_.size(); ++rank) inputs_.push_back(group_.InputWaitOf(rank));
}

}  // namespace tpuest
