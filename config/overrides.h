#pragma once
// Puts KEY=VALUE, KEY+=ITEM and ~KEY over the job. They act on the tree, in their order, before it
// is read.

#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/reflect.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// KEY is a key path, dotted, with list indices (layers.3.units or layers[3].units), or a suffix of
// one path only (max_steps; where its value is ${params.x}, params.x). VALUE is a YAML flow value,
// for a string taken as it stands; in a section left to its default it changes that. KEY+=ITEM adds
// an item to a list, the default's where the job has none; ~KEY takes the key out again.
struct Override {
  std::string text;                                // "train_batch_size=256"
  std::string origin = std::string(kCommandLine);  // "--model-dir" for a flag
};

// An override that was applied, for the log.
struct AppliedOverride {
  std::string given;  // the key as it was written
  std::string path;   // the key path it stands for
};

// Applies the overrides. `defaults` is the struct that the tree will be read into, with its
// defaults: it says which keys there are, beside those of `parameters` (ParameterPaths). Overrides
// that cannot be applied become faults and are left out.
std::vector<AppliedOverride> ApplyOverridesTo(Tree& tree, const std::vector<Override>& overrides,
                                              const Value& defaults,
                                              const std::vector<std::string>& parameters,
                                              Sources& sources, Faults& faults);

}  // namespace tpuest::config
