#pragma once
// A job as layers: base files, the job file over them, --set-file over it, KEY=VALUE last.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/blocks.h"
#include "config/diagnostics.h"
#include "config/overrides.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Puts sections in the place of parts of the job that stand in other files: a model that Keras
// saved. It runs before blocks are written out.
using ImportSections = std::function<void(Tree& job, Sources& sources, Faults& faults)>;

// A section that is either one, or several by name (eval_spec). Where a layer has the one and
// another has several, the one stands beside them, under its own name or `default_name`.
struct OneOrNamed {
  std::string_view key;   // of the section
  std::string_view mark;  // a key that the one must have, and that no name is
  std::string_view name;  // its key for a name; "" says that it has none
  std::string_view default_name;
};

// The layers above a job file, in this order, and where the models are that it may name.
struct Layers {
  std::vector<std::string> set_files;
  std::vector<Override> overrides;
  FindModelFile model_files;
  ImportSections import_sections;
  OtherNames others = {};
  std::span<const OneOrNamed> one_or_named = {};
};

// Puts `above` over `below`: a map's keys one by one, everything else whole. A section whose
// `type:` is another takes none of the keys below it. What was covered is kept in Node::earlier.
[[nodiscard]] Node Merged(Node below, Node above, std::span<const OneOrNamed> one_or_named = {});

// The tree of a file and of what its `base:` names, a file or a list of them beside it, which is
// taken out: the first is the lowest, each may have its own. Throws Error kUsage for a file that is
// not there, that is among its own bases, or that cannot be read at all; other faults are added.
[[nodiscard]] Node ReadLayers(std::string_view text, const std::string& file, const Origin& origin,
                              Sources& sources, Faults& faults,
                              std::span<const OneOrNamed> one_or_named = {});

// The file's text. Throws Error kUsage, which names the nearest file name if there is none of this
// name.
[[nodiscard]] std::string ReadJobFile(const std::string& file);

}  // namespace tpuest::config
