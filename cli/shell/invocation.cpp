#include "cli/shell/invocation.h"

#include "core/base/text.h"

namespace tpuest::cli {

bool IsJobFile(const std::string& argument) {
  return EndsWith(argument, ".yaml") || EndsWith(argument, ".yml");
}

bool IsDeviceName(std::string_view name) {
  constexpr std::string_view kPlugin = "pjrt:";
  return name == "cpu" || name == "cpu-xla" || name == "cuda" || name == "tpu" ||
         (name.starts_with(kPlugin) && name.size() > kPlugin.size());
}

}  // namespace tpuest::cli
