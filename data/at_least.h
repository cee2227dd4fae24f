#pragma once
// A check that the options of sources and stages share.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace tpuest::data {

// Throws Error kUsage at the key <section>.<name> for a value below `least`.
inline void ExpectAtLeast(const std::optional<int64_t>& value, int64_t least,
                          const std::string& section, std::string_view name) {
  if (!value || *value >= least) return;
  throw Error(Code::kUsage, fmt::format("{} is {}; expected {} or more", name, *value, least))
      .Key(fmt::format("{}.{}", section, name));
}

}  // namespace tpuest::data
