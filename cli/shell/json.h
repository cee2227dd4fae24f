#pragma once
// The whole of JSON, for the .cpp files that make or read it; headers do with report.h.

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/shell/report.h"

namespace tpuest::cli {

template <class T>
[[nodiscard]] Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace tpuest::cli
