#pragma once

#include <string_view>

namespace tpuest::cli {

inline constexpr std::string_view kVersion = TPUEST_VERSION;

}  // namespace tpuest::cli
