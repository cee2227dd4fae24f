#pragma once
// What the bits of the CPU engine may depend on beside the job: the build and the processor.

#include <string>

namespace tpuest::cli {

// "-march=native: avx2 fma avx512f": what was compiled for, and the vector instructions that
// kernels choose by when they run.
[[nodiscard]] std::string CpuText();

}  // namespace tpuest::cli
