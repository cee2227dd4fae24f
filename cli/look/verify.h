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
  std::optional<int64_t> records;  // --records: number of rows that compare a SavedModel
};

}  // namespace tpuest::cli
