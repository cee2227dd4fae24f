#pragma once
// The command line of `tpuest inspect`.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

struct InspectInvocation : Invocation {
  std::optional<std::string> value;  // a variable
  std::optional<std::string> diff;   // another checkpoint
  bool verify = false;
  std::optional<int64_t> head;  // records
};

}  // namespace tpuest::cli
