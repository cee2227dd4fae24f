#include "core/estimator/train/group_waits.h"

#include <algorithm>

#include "core/base/text.h"

namespace tpuest {
namespace {

std::string PercentOf(double part, double seconds) {
  return fmt::format("{:.0f}%", seconds > 0 ? std::clamp(100 * part / seconds, 0.0, 100.0) : 0.0);
}

}  // namespace

void GroupWaitsHook::Report(double seconds, double input_wait) {
  std::vector<std::string> waits{PercentOf(input_wait, seconds) + " for the input"};
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    const auto i = static_cast<size_t>(rank);
    waits.push_back(fmt::format("{} for {}, which itself waited {} for its input",
                                PercentOf(group_.waited_for()[i] - waited_for_[i], seconds),
                                group_.NameOf(rank),
                                PercentOf(group_.InputWaitOf(rank) - inputs_[i], seconds)));
  }
  log().Info("waited {}", Join(waits, "; "));
}

void GroupWaitsHook::Begin() {
  waited_for_ = group_.waited_for();
  inputs_.clear();
  for (int rank = 0; rank < group_.size(); ++rank) inputs_.push_back(group_.InputWaitOf(rank));
}

}  // namespace tpuest
