#pragma once
// The vector instructions that tpuest's kernels and oneDNN's use. It is chosen once, from the
// processor or as the job pins it, before the first kernel is looked for.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Sets that our kernels are compiled for. kBase is what the whole program needs: AVX2, FMA and BMI
// (x86-64-v3) on x86-64.
enum class CpuIsa { kBase, kAvx512 };

// "avx2" ("base" where the processor is no x86-64), "avx512".
[[nodiscard]] std::string_view NameOf(CpuIsa isa);

// The sets that this build has kernels for and this processor runs, the best one last.
[[nodiscard]] std::vector<CpuIsa> CpuIsas();

// From here on kernels, ours and oneDNN's, use this set and nothing beyond it, so that processors
// of different generations give the same bits. oneDNN's AVX-512 is then the first one's: without
// its bfloat16 instructions, whose results differ. Check fails if the set is none of CpuIsas(),
// or another one is in use.
void PinCpuIsa(CpuIsa isa);

// The sets in use.
struct ChosenIsa {
  CpuIsa kernels = CpuIsa::kBase;
  std::string onednn;     // "avx2", "avx512_core_amx", ...; DNNL_MAX_CPU_ISA may lower it
  std::string version;    // oneDNN's, "2.6.0"
  bool pinned = false;    // by PinCpuIsa
  bool bfloat16 = false;  // oneDNN multiplies bfloat16 matrices here, if by way of float
};
// Chooses, if nothing was chosen yet.
[[nodiscard]] const ChosenIsa& ChosenCpuIsa();

// Error kUsage with what runs instead, where products of bfloat16 do not: they need AVX-512.
void NeedBfloat16();

}  // namespace tpuest
