#include "cli/host/cpu_features.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/host/build_info.h"
#include "core/kernels/isa/cpu_isa.h"

namespace tpuest::cli {
namespace {

// The instructions by which kernels choose when they run.
std::string FeaturesText() {
  std::string text;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  const auto add = [&](bool has, const char* name) {
    if (has) text += std::string(" ") + name;
  };
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512vnni") != 0, "avx512vnni");
  add(__builtin_cpu_supports("avx512bf16") != 0, "avx512bf16");
#endif
  return text;
}

}  // namespace

std::string LibcText() {
  char text[64] = "";
  confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
  return text[0] == '\0' ? "another C library" : text;
}

std::string KernelsText() {
  const ChosenIsa& chosen = ChosenCpuIsa();
  return fmt::format("{}, oneDNN {} {}", NameOf(chosen.kernels), chosen.version, chosen.onednn);
}

std::string CpuText() {
  const std::string text =
      fmt::format("{}, {}, kernels {}", ThisBuild().march, LibcText(), KernelsText());
  const bool is_for_any = ChosenCpuIsa().pinned && ThisBuild().march != "native";
  return is_for_any ? text : text + ":" + FeaturesText();
}

}  // namespace tpuest::cli
