#include "cli/host/cpu_features.h"

#include <fmt/format.h>

#include "cli/host/build_info.h"

namespace tpuest::cli {

std::string CpuText() {
  std::string text = fmt::format("-march={}:", ThisBuild().march);
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  const auto add = [&](bool has, const char* name) {
    if (has) text += std::string(" ") + name;
  };
  add(__builtin_cpu_supports("sse4.1") != 0, "sse4.1");
  add(__builtin_cpu_supports("avx") != 0, "avx");
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512vnni") != 0, "avx512vnni");
  add(__builtin_cpu_supports("avx512bf16") != 0, "avx512bf16");
#endif
  return text;
}

}  // namespace tpuest::cli
