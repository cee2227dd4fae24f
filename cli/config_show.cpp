// tpuest config show JOB.yaml [--full]

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/session.h"

namespace tpuest::cli {

int ConfigCommand(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& sources) {
    if (invocation.subject != "show") {
      throw Error(Code::kUsage,
                  invocation.subject.empty()
                      ? "config needs to know what to do"
                      : fmt::format("config cannot '{}'", invocation.subject),
                  "tpuest config show job.yaml [--full]");
    }
    const LoadedJob loaded = LoadInvocationJob(invocation, sources);
    const std::string text = invocation.full ? ResolvedText(loaded.job, loaded.tree)
                                             : ShownText(loaded.job, loaded.tree);
    if (invocation.json) {
      PrintDocument("config", {{"yaml", text}});
    } else {
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
    return 0;
  });
}

}  // namespace tpuest::cli
