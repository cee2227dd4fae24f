#pragma once
// Converts errno to an Error.

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace tpuest {

// kResource if the machine's resources (disk, descriptors, memory) are exhausted or it fails (EIO),
// kUsage if a permission is missing or the disk is read-only; otherwise `otherwise`.
[[nodiscard]] Code CodeOfErrno(int number, Code otherwise = Code::kData);

// "a.csv: cannot read: Input/output error", with the hint for this errno.
[[noreturn]] void ThrowErrno(const std::string& path, std::string_view doing,
                             Code otherwise = Code::kData);

}  // namespace tpuest
