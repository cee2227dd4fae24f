#pragma once
// The command line of `tpuest inspect`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

struct InspectInvocation : Invocation {
  std::vector<std::string> values;  // --value: the variables that are shown
  std::optional<std::string> diff;  // --diff: the checkpoint to compare with
  bool verify = false;
  std::optional<int64_t> head;  // --head: number of records to show
};

}  // namespace tpuest::cli
