#pragma once
// The array layout of a RowTable (row_table.h): one record per row, in pages that the system
// allocates on the first write, and two bits per row: whether it was written, and whether its
// record holds values.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tpuest {

class RowArray {
 public:
  RowArray() = default;  // of no rows
  // std::bad_alloc if the system has no address space for the rows.
  RowArray(int64_t rows, int64_t record_floats);
  ~RowArray();
  RowArray(RowArray&& other) noexcept { *this = static_cast<RowArray&&>(other); }
  RowArray& operator=(RowArray&& other) noexcept;

  // The bytes that `rows` rows take once all pages are written.
  [[nodiscard]] static int64_t BytesOf(int64_t rows, int64_t record_bytes) {
    return rows * record_bytes + 2 * BitWords(rows) * kWordBytes;
  }

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] float* Record(int64_t row) const { return records_ + row * record_floats_; }
  [[nodiscard]] bool IsWritten(int64_t row) const { return Bit(bits_, row); }
  [[nodiscard]] bool IsThere(int64_t row) const { return Bit(bits_ + BitWords(rows_), row); }
  void SetWritten(int64_t row) {
    SetBit(bits_, row);
    SetThere(row);
  }
  void SetThere(int64_t row) { SetBit(bits_ + BitWords(rows_), row); }
  void Clear(int64_t row) {
    ClearBit(bits_, row);
    ClearBit(bits_ + BitWords(rows_), row);
  }
  // Prefetches a row's record and its bit.
  void Prefetch(int64_t row) const;
  // Calls fn(row) for each written row in ascending order.
  template <class Fn>
  void ForEachWritten(const Fn& fn) const {
    for (int64_t word = 0; word < BitWords(rows_); ++word) {
      for (uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1) {
        fn(word * kWordBits + std::countr_zero(bits));
      }
    }
  }

 private:
  static constexpr int64_t kWordBytes = sizeof(uint64_t);
  static constexpr int64_t kWordBits = 64;

  static int64_t BitWords(int64_t rows) { return (rows + kWordBits - 1) / kWordBits; }
  static uint64_t Mask(int64_t row) { return uint64_t{1} << (row % kWordBits); }
  static bool Bit(const uint64_t* bits, int64_t row) {
    return (bits[row / kWordBits] & Mask(row)) != 0;
  }
  static void SetBit(uint64_t* bits, int64_t row) { bits[row / kWordBits] |= Mask(row); }
  static void ClearBit(uint64_t* bits, int64_t row) { bits[row / kWordBits] &= ~Mask(row); }
  [[nodiscard]] size_t RecordsBytes() const;
  [[nodiscard]] size_t BitsBytes() const;

  int64_t rows_ = 0;
  int64_t record_floats_ = 0;
  float* records_ = nullptr;
  uint64_t* bits_ = nullptr;  // bits of written rows, then of rows with values
};

}  // namespace tpuest
