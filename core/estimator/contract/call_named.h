#pragma once
// Calls a fn of TPUEstimatorSpec with its tensors.

#include <exception>
#include <string_view>

#include "core/base/log.h"

namespace tpuest {

// What `call` returns. What it throws is thrown on, after a warning that names the likely reason;
// `name`: "host_call", "eval_metrics".
template <class Call>
[[nodiscard]] auto CallNamed(std::string_view name, Log& log, Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    log.Warning(
        "Exception while calling {}: {}. It is likely the tensors ({}[1]) do not match the "
        "function's arguments",
        name, error.what(), name);
    throw;
  }
}

}  // namespace tpuest
