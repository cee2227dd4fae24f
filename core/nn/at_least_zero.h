#pragma once
// Checks the arguments of penalties and of limits on weights.

#include <fmt/format.h>

#include <string_view>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::nn {

// Throws Error kUsage for a negative number, and for NaN: "l2 is -1, expected at least 0".
inline void CheckAtLeastZero(std::string_view argument, double value) {
  if (value >= 0) return;
  throw Error(Code::kUsage,
              fmt::format("{} is {}, expected at least 0", argument, NumberText(value)));
}

}  // namespace tpuest::nn
