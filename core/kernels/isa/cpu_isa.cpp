#include "core/kernels/isa/cpu_isa.h"

#include <fmt/format.h>

#include <atomic>
#include <dnnl.hpp>
#include <optional>

#include "core/base/error.h"

namespace tpuest {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kBaseName = "avx2";
#else
constexpr std::string_view kBaseName = "base";
#endif

bool RunsAvx512() {
#if defined(__x86_64__) && defined(TPUEST_HAS_AVX512)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

std::string_view OneDnnName(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_mic:
    case dnnl::cpu_isa::avx512_mic_4ops:
      return "avx512_mic";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "all";
  }
}

// oneDNN's sets are masks of bits: a set with all bits of another set includes it.
bool Includes(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  return (static_cast<unsigned>(isa) & static_cast<unsigned>(part)) == static_cast<unsigned>(part);
}

// The set that PinCpuIsa pinned, and whether the choice is already made. The choice is the
// process's, as oneDNN's is.
struct Pin {
  std::optional<CpuIsa> isa;
  std::atomic<bool> is_used = false;
};

Pin& ThePin() {
  static Pin pin;
  return pin;
}

ChosenIsa Choose() {
  ThePin().is_used = true;
  const dnnl::cpu_isa onednn = dnnl::get_effective_cpu_isa();
  const dnnl_version_t* const version = dnnl_version();
  return {.kernels = ThePin().isa.value_or(CpuIsas().back()),
          .onednn = std::string(OneDnnName(onednn)),
          .version = fmt::format("{}.{}.{}", version->major, version->minor, version->patch),
          .pinned = ThePin().isa.has_value(),
          .bfloat16 = Includes(onednn, dnnl::cpu_isa::avx512_core)};
}

}  // namespace

std::string_view NameOf(CpuIsa isa) { return isa == CpuIsa::kAvx512 ? "avx512" : kBaseName; }

std::vector<CpuIsa> CpuIsas() {
  std::vector<CpuIsa> isas = {CpuIsa::kBase};
  if (RunsAvx512()) isas.push_back(CpuIsa::kAvx512);
  return isas;
}

void PinCpuIsa(CpuIsa isa) {
  Check(isa <= CpuIsas().back(), "this processor has no {}", NameOf(isa));
  Pin& pin = ThePin();
  Check(!pin.is_used || pin.isa == isa, "kernels are in use when {} is asked for", NameOf(isa));
  pin.isa = isa;
  // Overrides DNNL_MAX_CPU_ISA.
  dnnl::set_max_cpu_isa(isa == CpuIsa::kAvx512 ? dnnl::cpu_isa::avx512_core : dnnl::cpu_isa::avx2);
}

const ChosenIsa& ChosenCpuIsa() {
  static const ChosenIsa chosen = Choose();
  return chosen;
}

void NeedBfloat16() {
  const ChosenIsa& chosen = ChosenCpuIsa();
  if (chosen.bfloat16) return;
  throw Error(
      Code::kUsage,
      fmt::format("bfloat16 needs a processor with AVX-512; here oneDNN multiplies with {}{}",
                  chosen.onednn, chosen.pinned ? ", as tpuest.cpu_isa says" : ""),
      "precision: float32, which takes the same checkpoints");
}

}  // namespace tpuest
