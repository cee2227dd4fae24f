#include "core/base/process/heap.h"

#include <cstdlib>  // says whether this is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tpuest {

#ifdef __GLIBC__
void ShareHeap() { (void)::mallopt(M_ARENA_MAX, 1); }
void ReturnFreeMemory() { (void)::malloc_trim(0); }
#else
void ShareHeap() {}
void ReturnFreeMemory() {}
#endif

}  // namespace tpuest
