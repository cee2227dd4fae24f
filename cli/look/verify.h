#pragma once
// The command line of `tpuest verify`.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

struct VerifyInvocation : Invocation {
  std::optional<std::string> from;  // --from: a step, a checkpoint, or "start"
  bool all = false;
  std::optional<int64_t> records;  // --records: so many rows a SavedModel is compared on
};

}  // namespace tpuest::cli
