#pragma once
// The hash that TensorFlow calls Fingerprint64, from FarmHash. It never changes, so files may
// contain it.

#include <cstdint>
#include <string_view>

namespace tpuest {

[[nodiscard]] uint64_t Fingerprint64(std::string_view text);
// Combines two fingerprints in this order (TensorFlow's FingerprintCat64).
[[nodiscard]] uint64_t FingerprintCat64(uint64_t first, uint64_t second);

}  // namespace tpuest
