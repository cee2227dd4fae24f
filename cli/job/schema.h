#pragma once
// The job file as a JSON Schema (draft 2020-12), for editors.

#include "cli/shell/report.h"

namespace tpuest::cli {

// Every key with its description, its words, its default and whether it is required; sections with
// a `type:` stand once under $defs.
[[nodiscard]] Json JobSchema();

}  // namespace tpuest::cli
