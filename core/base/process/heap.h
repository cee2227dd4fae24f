#pragma once
// A process that works in rounds keeps its heap small with these two. They do nothing where the C
// library is not glibc.

namespace tpuest {

// Has all threads allocate from one heap. Otherwise those that a round starts take up whichever
// heaps those of the last one left, until each heap is as large as the largest round. To be called
// before the first thread starts.
void ShareHeap();

// Gives free pages back to the system.
void ReturnFreeMemory();

}  // namespace tpuest
