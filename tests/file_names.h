#pragma once
// Holds names of files to one place each: what is below a model_dir is called so by one function,
// which everything else calls.

#include <string>
#include <vector>

#include "tests/layering.h"

namespace tpuest {

// One line a fault: a literal, outside of the files that make names, that spells one of their names
// or is joined to a model_dir, or two of theirs that spell the same. Texts (literals with a space)
// may speak of a file, unless they put a folder before it.
[[nodiscard]] std::vector<std::string> FileNameFaults(const std::vector<Source>& tree);

}  // namespace tpuest
