// tpuest version

#include "cli/commands.h"
#include "cli/host/build_info.h"
#include "cli/shell/json.h"

namespace tpuest::cli {
namespace {

int Version(const Invocation& invocation, config::Sources& /*sources*/) {
  if (invocation.json) {
    PrintDocument("version", {{"version", ThisBuild().version}});
  } else {
    fmt::print("tpuest {}\n", ThisBuild().version);
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
