#pragma once
// errno as an Error.

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace tpuest {

// kResource where the machine is at its end (disk, descriptors, memory) or fails (EIO), kUsage
// where a permission is missing or the disk is read-only; `otherwise` for all else.
[[nodiscard]] Code CodeOfErrno(int number, Code otherwise = Code::kData);

// "a.csv: cannot read: Input/output error", with the way out that errno has.
[[noreturn]] void ThrowErrno(const std::string& path, std::string_view doing,
                             Code otherwise = Code::kData);

}  // namespace tpuest
