#pragma once
// Mapped files that others cut while they are read. To read a page that a file no longer has is
// SIGBUS; for the mappings that are watched it is a page of zeros, and the mapping is known as cut.

#include <cstddef>

namespace tpuest {

// From the first call on the process handles SIGBUS; one that is of no watched mapping ends it.
void WatchMapping(const char* data, size_t size);
// To be called before the memory is unmapped.
void ForgetMapping(const char* data);
// Whether pages of the watched mapping that begins here were missing when they were read.
[[nodiscard]] bool IsCut(const char* data);

}  // namespace tpuest
