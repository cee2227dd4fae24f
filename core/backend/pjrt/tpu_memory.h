#pragma once
// The memory sizes of TPU generations.

#include <cstdint>
#include <string_view>

namespace tpuest {

// Bytes of high-bandwidth memory of one device (a core, or a chip whose cores form one device) of a
// topology such as "v5e:2x2"; 0 for an unknown generation. Programs can use slightly less. Source:
// Google Cloud TPU documentation, "System architecture" of each version
// (docs.cloud.google.com/tpu/docs/v2, v3, v4, v5e, v5p, v6e, tpu7x): memory of a chip 16, 32, 32,
// 16, 95, 32, 192 GiB; cores of a chip 2, 2, 2, 1, 2, 1, 2, which form one device on v4 and v5p.
[[nodiscard]] int64_t TpuMemoryBytes(std::string_view topology);

}  // namespace tpuest
