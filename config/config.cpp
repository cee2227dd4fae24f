#include "config/config.h"

#include <fmt/format.h>

#include <filesystem>

namespace tpuest::config {

std::vector<AppliedOverride> ParseJobInto(std::string_view text, const std::string& file,
                                          const Layers& layers, Sources& sources,
                                          const Value& section, Tree& tree) {
  Faults faults;
  const Origin of_files{Origin::Kind::kJobFile, ""};
  tree.root = ReadLayers(text, file, of_files, sources, faults, layers.one_or_named);
  for (const std::string& set_file : layers.set_files) {
    Node above =
        ReadLayers(ReadJobFile(set_file), set_file, of_files, sources, faults, layers.one_or_named);
    if (above.kind == Node::Kind::kMap) {
      tree.root = Merged(std::move(tree.root), std::move(above), layers.one_or_named);
    }
  }
  tree.others = layers.others;
  tree.names["name"] = std::filesystem::path(file).stem().string();
  std::vector<AppliedOverride> applied;
  if (tree.root.kind == Node::Kind::kMap && !layers.overrides.empty()) {
    const std::vector<std::string> declared =
        layers.declared_paths ? layers.declared_paths(tree) : std::vector<std::string>();
    applied = ApplyOverridesTo(tree, layers.overrides, section, declared, sources, faults);
  }
  // ReadLayers has removed `base` from files, so this one came from KEY=VALUE.
  if (const Node* const base = tree.root.Find("base")) {
    faults.Add({"`base` can only be set in a job file: base files are defaults below it",
                "--set-file FILE", "base", base->key_place, base->key_width});
  }
  if (layers.rewrite) layers.rewrite(tree, sources, faults);
  sources.SetJob(tree);
  for (std::string& note : ReadInto(tree, section, faults)) tree.notes.push_back(std::move(note));
  std::vector<Fault> all = faults.Take();
  SortByPlace(all);
  if (!all.empty()) throw Error(Code::kUsage, std::move(all));
  return applied;
}

}  // namespace tpuest::config
