#pragma once
// The build and the processor: beside the job, the bits of the CPU engine may depend on them.

#include <string>

namespace tpuest::cli {

// "-march=native: avx2 fma avx512f": the text names the -march= of the build, then the vector
// instructions of this processor that kernels choose by when they run.
[[nodiscard]] std::string CpuText();

}  // namespace tpuest::cli
