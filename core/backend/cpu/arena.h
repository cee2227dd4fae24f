#pragma once
// A program's memory, in one allocation.

#include <cstddef>

namespace tpuest {

// Zeroed memory, on huge pages if the system provides them: a step walks through all of it, and
// with pages of 4 KiB it would spend more than a tenth of the time on address translation (measured
// on a virtual machine). Pages that are never touched take no memory.
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
