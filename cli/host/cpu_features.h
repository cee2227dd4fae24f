#pragma once
// The build and the processor: beside the job, the bits of the CPU engine may depend on them.

#include <string>

namespace tpuest::cli {

// "glibc 2.36", as it is loaded.
[[nodiscard]] std::string LibcText();

// "avx512, oneDNN 2.6.0 avx512_core_amx": the sets of instructions that kernels use, ours first.
[[nodiscard]] std::string KernelsText();

// What tells processors apart whose bits may differ: "x86-64-v3, glibc 2.36, kernels avx512, oneDNN
// 2.6.0 avx512_core_amx: avx2 fma avx512f". Ends before the colon where tpuest.cpu_isa pinned the
// kernels and the build is for any processor: what is behind it then counts for nothing.
[[nodiscard]] std::string CpuText();

}  // namespace tpuest::cli
