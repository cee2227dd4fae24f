#include "core/backend/rows/row_array.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "core/tensor/prefetch.h"

namespace tpuest {
namespace {

// Zeroed memory that the system allocates page by page on the first write.
void* Reserve(size_t bytes, bool in_large_pages) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (in_large_pages) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

RowArray::RowArray(int64_t rows, int64_t record_floats)
    : rows_(rows), record_floats_(record_floats) {
  if (rows_ == 0) return;
  records_ = static_cast<float*>(Reserve(RecordsBytes(), true));
  bits_ = static_cast<uint64_t*>(Reserve(BitsBytes(), false));
}

RowArray::~RowArray() {
  if (records_ != nullptr) ::munmap(records_, RecordsBytes());
  if (bits_ != nullptr) ::munmap(bits_, BitsBytes());
}

RowArray& RowArray::operator=(RowArray&& other) noexcept {
  std::swap(rows_, other.rows_);
  std::swap(record_floats_, other.record_floats_);
  std::swap(records_, other.records_);
  std::swap(bits_, other.bits_);
  return *this;
}

size_t RowArray::RecordsBytes() const {
  return static_cast<size_t>(rows_ * record_floats_) * sizeof(float);
}
size_t RowArray::BitsBytes() const { return static_cast<size_t>(2 * BitWords(rows_) * kWordBytes); }

void RowArray::Prefetch(int64_t row) const {
  __builtin_prefetch(&bits_[row / kWordBits]);
  PrefetchRow(Record(row), static_cast<int64_t>(sizeof(float)) * record_floats_);
}

}  // namespace tpuest
