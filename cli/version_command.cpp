// tpuest version

#include "cli/commands.h"
#include "cli/host/version.h"
#include "cli/shell/report.h"

namespace tpuest::cli {
namespace {

int Version(const Invocation& invocation, config::Sources& /*sources*/) {
  if (invocation.json) {
    PrintDocument("version", {{"version", kVersion}});
  } else {
    fmt::print("tpuest {}\n", kVersion);
  }
  return 0;
}

}  // namespace

Command VersionCommand() {
  return MakeCommand({.name = "version",
                      .summary = "print the version",
                      .example = "tpuest version --json",
                      .takes = Takes::kNothing},
                     Version);
}

}  // namespace tpuest::cli
