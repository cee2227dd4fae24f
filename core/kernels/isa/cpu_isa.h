#pragma once
// The set of vector instructions that tpuest's kernels and oneDNN use. It is chosen once, before
// the first lookup of a kernel: by the processor, or by the job if it pins a set.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Sets that our kernels are compiled for. kBase is the set that the whole program requires: AVX2,
// FMA and BMI (x86-64-v3) on x86-64.
enum class CpuIsa { kBase, kAvx512 };

// "avx2" ("base" on processors other than x86-64), "avx512".
[[nodiscard]] std::string_view NameOf(CpuIsa isa);

// The sets that this build has kernels for and this processor supports; the best is the last.
[[nodiscard]] std::vector<CpuIsa> CpuIsas();

// From now on our kernels and oneDNN's use only this set, so that processors of different
// generations give the same bits. oneDNN then uses the AVX-512 of the first generation, without
// bfloat16 instructions, whose results differ. Check fails if the set is not in CpuIsas(), or if
// another set is in use.
void PinCpuIsa(CpuIsa isa);

// The sets in use.
struct ChosenIsa {
  CpuIsa kernels = CpuIsa::kBase;
  std::string onednn;     // "avx2", "avx512_core_amx", ...; DNNL_MAX_CPU_ISA may lower it
  std::string version;    // oneDNN's, "2.6.0"
  bool pinned = false;    // by PinCpuIsa
  bool bfloat16 = false;  // oneDNN can multiply bfloat16 matrices on this processor, at least by
                          // converting them to float
};
// Chooses the sets at the first call.
[[nodiscard]] const ChosenIsa& ChosenCpuIsa();

// Throws Error kUsage, which suggests an alternative, if the processor cannot multiply bfloat16
// matrices, which needs AVX-512.
void NeedBfloat16();

}  // namespace tpuest
