#pragma once
// Applies KEY=VALUE, KEY+=ITEM and ~KEY to the job's tree, in their order, before it is read.

#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/reflect.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// KEY is a dotted key path with list indices (layers.3.units or layers[3].units), or a suffix that
// matches a single path (max_steps; if that key's value is ${params.x}, params.x is set). VALUE is
// a YAML flow value; a string key takes it literally. A key in a section that the job leaves to its
// default changes that default. KEY+=ITEM appends an item to the job's list, or to the default
// list; ~KEY removes the key.
struct Override {
  std::string text;                                // "train_batch_size=256"
  std::string origin = std::string(kCommandLine);  // "--model-dir" for a flag
};

// An applied override, for the log.
struct AppliedOverride {
  std::string given;  // the key as it was written
  std::string path;   // the key path that it matched
};

// Applies the overrides. `defaults` is the struct that the tree will be read into, with its
// defaults: it defines the valid keys, together with `parameters` (DeclaredPaths). Overrides that
// cannot be applied become faults and are skipped.
std::vector<AppliedOverride> ApplyOverridesTo(Tree& tree, const std::vector<Override>& overrides,
                                              const Value& defaults,
                                              const std::vector<std::string>& parameters,
                                              Sources& sources, Faults& faults);

}  // namespace tpuest::config
