#pragma once
// The memory of a program, in one piece.

#include <cstddef>

namespace tpuest {

// Zeroed memory, on huge pages where the system gives them: a step walks through all of it, and on
// pages of 4 KiB it would wait for address translation more than a tenth of the time (measured, on
// a virtual machine). What is never touched takes no memory.
class Arena {
 public:
  // Throws std::bad_alloc if there is none.
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned to a huge page.
  [[nodiscard]] char* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  char* data_ = nullptr;
};

}  // namespace tpuest
