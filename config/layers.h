#pragma once
// A job as layers: base files at the bottom, the job file over them, then --set-file, then
// KEY=VALUE.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/overrides.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Returns the key paths that the job declares itself, such as the parameters of its model, which
// KEY=VALUE may set.
using DeclaredPaths = std::function<std::vector<std::string>(const Tree& job)>;

// Rewrites the tree before it is read, such as references to other files, or a model's blocks.
using RewriteTree = std::function<void(Tree& job, Sources& sources, Faults& faults)>;

// A section that is either single, or several sections by name (eval_spec). If one layer has a
// single section and another has several, the single one joins them under its own name or
// `default_name`.
struct OneOrNamed {
  std::string_view key;   // key of the section
  std::string_view mark;  // a key that a single section must have, and that is never a name
  std::string_view name;  // its key for a name; "" if it has none
  std::string_view default_name;
};

// The layers above a job file, in this order, and what the caller knows of the job's sections.
struct Layers {
  std::vector<std::string> set_files;
  std::vector<Override> overrides;
  DeclaredPaths declared_paths;
  RewriteTree rewrite;
  OtherNames others = {};
  std::span<const OneOrNamed> one_or_named = {};
};

// Merges `above` over `below`: maps key by key, everything else as a whole. A section of a
// different `type:` keeps none of the keys below it. Overridden values are kept in Node::earlier.
[[nodiscard]] Node Merged(Node below, Node above, std::span<const OneOrNamed> one_or_named = {});

// Returns the tree of a file merged over its bases: `base:` names a file or a list of files
// relative to the file, the lowest first, and is removed; bases may have bases. Throws Error kUsage
// for a file that does not exist, that is a base of itself, or that cannot be parsed; adds other
// faults.
[[nodiscard]] Node ReadLayers(std::string_view text, const std::string& file, const Origin& origin,
                              Sources& sources, Faults& faults,
                              std::span<const OneOrNamed> one_or_named = {});

// Returns the file's text. Throws Error kUsage for a missing file, with the nearest file name.
[[nodiscard]] std::string ReadJobFile(const std::string& file);

}  // namespace tpuest::config
