#include "cli/shell/invocation.h"

#include "core/base/text.h"

namespace tpuest::cli {

bool IsJobFile(const std::string& argument) {
  return EndsWith(argument, ".yaml") || EndsWith(argument, ".yml");
}

}  // namespace tpuest::cli
