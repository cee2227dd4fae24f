#include "config/config.h"

#include <fmt/format.h>

#include <filesystem>

#include "config/yaml_reader.h"
#include "core/base/files.h"
#include "core/base/text.h"

namespace tpuest::config {

std::vector<AppliedOverride> ParseJobInto(std::string_view text, const std::string& file,
                                          const std::vector<Override>& overrides, Sources& sources,
                                          const Value& section, Tree& tree) {
  std::vector<Fault> faults;
  tree.root = ParseYaml(text, file, {Origin::Kind::kJobFile, ""}, sources, faults);
  tree.names["name"] = std::filesystem::path(file).stem().string();
  std::vector<AppliedOverride> applied;
  if (tree.root.kind == Node::Kind::kMap) {
    applied = ApplyOverridesTo(tree, overrides, section, sources, faults);
  }
  ReadInto(tree, section, faults);
  if (!faults.empty()) {
    SortByPlace(faults);
    throw Error(Code::kUsage, std::move(faults));
  }
  return applied;
}

std::string ReadJobFile(const std::string& file) {
  if (DirectoryExists(file)) {
    throw Error(Code::kUsage, fmt::format("{} is a folder", file), "name the job file in it");
  }
  if (!FileExists(file)) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    std::vector<std::string> names;
    if (folder.empty() || DirectoryExists(folder)) {
      names = ListDirectory(folder.empty() ? "." : folder);
    }
    const std::optional<std::string> near = Nearest(BaseName(file), names);
    const std::string hint =
        near ? fmt::format("did you mean '{}'?", folder.empty() ? *near : JoinPath(folder, *near))
             : "";
    throw Error(Code::kUsage, fmt::format("there is no file '{}'", file), hint);
  }
  try {
    return ReadFile(file);
  } catch (const Error& error) {
    throw Error(Code::kUsage, error.faults());
  }
}

}  // namespace tpuest::config
