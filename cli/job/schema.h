#pragma once
// The job file as a JSON Schema (draft 2020-12), for editors.

#include "cli/shell/report.h"

namespace tpuest::cli {

// Returns every key with its description, its allowed words, its default and whether it is
// required; each section with a `type:` is defined once under $defs.
[[nodiscard]] Json JobSchema();

}  // namespace tpuest::cli
