#include "core/base/process/system_error.h"

#include <cerrno>
#include <cstring>

namespace tpuest {
namespace {

std::string WayOut(int number) {
  switch (number) {
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f)";
    case ENOSPC:
    case EDQUOT:
      return "free some space and run the same command again";
    case EMFILE:
      return "raise the limit on open files (ulimit -n)";
    case ENFILE:
    case ENOMEM:
      return "the machine is at its end: run the same command again when others are done";
    case EIO:
      return "the disk or its network fails; its kernel's log (dmesg) has more";
    case EACCES:
    case EROFS:
    case EPERM:
      return "check its permissions, or name another path";
    default:
      return "";
  }
}

}  // namespace

Code CodeOfErrno(int number, Code otherwise) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
      return Code::kResource;
    case EACCES:
    case EROFS:
    case EPERM:
      return Code::kUsage;
    default:
      return otherwise;
  }
}

void ThrowErrno(const std::string& path, std::string_view doing, Code otherwise) {
  const int number = errno;
  throw Error(CodeOfErrno(number, otherwise),
              fmt::format("{}: cannot {}: {}", path, doing, std::strerror(number)), WayOut(number));
}

}  // namespace tpuest
