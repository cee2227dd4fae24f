#include "core/backend/cpu/arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace tpuest {
namespace {

// A huge page of x86-64. The mapping is larger by this much so that it contains an aligned piece.
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

Arena::Arena(size_t bytes) : mapped_bytes_(bytes + kHugePage) {
  mapping_ =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const size_t past = reinterpret_cast<uintptr_t>(mapping_) % kHugePage;
  data_ = static_cast<char*>(mapping_) + (past == 0 ? 0 : kHugePage - past);
  // Whole pages only: a partial page would waste memory. If madvise refuses, small pages work as
  // well.
  const size_t whole = bytes / kHugePage * kHugePage;
  if (whole > 0) (void)madvise(data_, whole, MADV_HUGEPAGE);
}

Arena::~Arena() { munmap(mapping_, mapped_bytes_); }

}  // namespace tpuest
