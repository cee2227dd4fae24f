#pragma once
// Mapped files that another process may truncate while they are read. Reading a page that a file no
// longer has raises SIGBUS; in watched mappings it reads zeros instead and marks the mapping as
// cut.

#include <cstddef>

namespace tpuest {

// From the first call on, the process handles SIGBUS; outside of watched mappings it still ends the
// process.
void WatchMapping(const char* data, size_t size);
// Called before the memory is unmapped.
void ForgetMapping(const char* data);
// Whether pages of the watched mapping that begins at `data` were missing when they were read.
[[nodiscard]] bool IsCut(const char* data);

}  // namespace tpuest
