#include "cli/run/open_loss.h"

namespace tpuest::cli {

void CheckLossIsKnown(const Invocation& invocation, const config::Sources& sources) {
  if (!invocation.job) return;
  constexpr std::string_view kMark = "# ???";
  for (int line = 1;; ++line) {
    const std::string* const text = sources.Line(*invocation.job, line);
    if (text == nullptr) return;
    const size_t at = text->find(kMark);
    if (at == std::string::npos || text->find("loss", at) == std::string::npos) continue;
    std::vector<Fault> faults = {
        {.message =
             "the loss differs from the old run's: this job lacks the part that is marked ???",
         .hint = "add that part to the job, or decide to train without it; then delete this line",
         .key = "",
         .place = {*invocation.job, line, static_cast<int>(at) + 1},
         .width = static_cast<int>(text->size() - at)}};
    throw Error(Code::kUsage, std::move(faults));
  }
}

}  // namespace tpuest::cli
