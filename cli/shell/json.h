#pragma once
// The whole JSON library, for .cpp files that make or read documents; headers include report.h.

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/shell/report.h"

namespace tpuest::cli {

// JSON has null where there is no value.
template <class T>
[[nodiscard]] Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace tpuest::cli
