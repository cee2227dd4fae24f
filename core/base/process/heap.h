#pragma once
// Keep the heap of a process that works in rounds small. No effect unless the C library is glibc.

namespace tpuest {

// Makes all threads allocate from one heap. Otherwise the threads of each round reuse arbitrary
// heaps of the previous round's threads, until every heap is as large as the largest round. Called
// before the first thread starts.
void ShareHeap();

// Returns free pages to the system.
void ReturnFreeMemory();

}  // namespace tpuest
