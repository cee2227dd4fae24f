#include "core/base/error.h"

namespace tpuest {

void CheckFailed(const char* file, int line, const char* condition, std::string message) {
  throw InternalError(fmt::format("{}:{}: '{}' does not hold{}{}", file, line, condition,
                                  message.empty() ? "" : ": ", message));
}

}  // namespace tpuest
