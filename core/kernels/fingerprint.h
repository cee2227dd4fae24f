#pragma once
// The hash that TensorFlow calls Fingerprint64.

#include <cstdint>
#include <string_view>

namespace tpuest {

[[nodiscard]] uint64_t Fingerprint64(std::string_view text);

}  // namespace tpuest
