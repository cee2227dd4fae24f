// tpuest version

#include "cli/commands.h"
#include "cli/host/build_info.h"
#include "cli/host/cpu_features.h"
#include "cli/shell/json.h"
#include "core/kernels/isa/cpu_isa.h"

namespace tpuest::cli {
namespace {

Json InstructionSets() {
  const ChosenIsa& chosen = ChosenCpuIsa();
  Json available = Json::array();
  for (const CpuIsa isa : CpuIsas()) available.push_back(NameOf(isa));
  return {{"available", available},
          {"kernels", NameOf(chosen.kernels)},
          {"onednn", chosen.onednn},
          {"bfloat16", chosen.bfloat16}};
}

Json Libraries() {
  Json libraries = Json::object();
  for (const auto& [name, version] : ThisBuild().libraries) libraries[std::string(name)] = version;
  // The libraries that bits depend on, as loaded here.
  libraries["oneDNN"] = ChosenCpuIsa().version;
  libraries["libc"] = LibcText();
  return libraries;
}

Json Document() {
  const BuildInfo& build = ThisBuild();
  return {{"version", build.version},
          {"commit", build.commit.empty() ? Json() : Json(build.commit)},
          {"build", {{"type", build.type}, {"compiler", build.compiler}, {"march", build.march}}},
          {"instruction_sets", InstructionSets()},
          {"libraries", Libraries()}};
}

int Version(const Invocation& invocation, config::Sources& /*sources*/) {
  if (invocation.json) {
    PrintDocument("version", Document());
  } else {
    fmt::print("tpuest {}\n", ThisBuild().version);
  }
  return 0;
}

}  // namespace

Command VersionCommand() {
  return MakeCommand({.name = "version",
                      .summary = "print the version; commit, build and libraries with --json",
                      .examples = {"tpuest version", "tpuest version --json"},
                      .takes = Takes::kNothing},
                     Version);
}

}  // namespace tpuest::cli
