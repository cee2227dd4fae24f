// tpuest version

#include "cli/version.h"

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/session.h"

namespace tpuest::cli {

int Version(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& /*sources*/) {
    if (invocation.json) {
      PrintDocument("version", {{"version", kVersion}});
    } else {
      fmt::print("tpuest {}\n", kVersion);
    }
    return 0;
  });
}

}  // namespace tpuest::cli
