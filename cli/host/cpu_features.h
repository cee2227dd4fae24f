#pragma once
// Describes the build and the processor, on which the bits of the CPU engine may depend besides the
// job.

#include <string>

namespace tpuest::cli {

// "glibc 2.36", as it is loaded.
[[nodiscard]] std::string LibcText();

// "avx512, oneDNN 2.6.0 avx512_core_amx": the sets of instructions that kernels use, ours first.
[[nodiscard]] std::string KernelsText();

// Returns a text that differs for processors whose bits may differ: "x86-64-v3, glibc 2.36, kernels
// avx512, oneDNN 2.6.0 avx512_core_amx: avx2 fma avx512f". Ends before the colon if tpuest.cpu_isa
// pinned the kernels and the build is for any processor: the rest then has no effect.
[[nodiscard]] std::string CpuText();

}  // namespace tpuest::cli
