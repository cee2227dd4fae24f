#pragma once
// The array layout of a RowTable (row_table.h): a record a row, in pages that the system gives when
// they are written, and two bits a row: whether it was written, and whether its values are there.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tpuest {

class MappedRows {
 public:
  MappedRows() = default;  // of no rows
  // std::bad_alloc where the system has no room for the rows' places.
  MappedRows(int64_t rows, int64_t record_floats);
  ~MappedRows();
  MappedRows(MappedRows&& other) noexcept { *this = static_cast<MappedRows&&>(other); }
  MappedRows& operator=(MappedRows&& other) noexcept;

  // What so many rows take once all pages are written.
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
  // Has a row's record and its bit brought near.
  void Prefetch(int64_t row) const;
  // Calls fn(row) for each that was written, the smallest first.
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
  uint64_t* bits_ = nullptr;  // which were written, then which are there
};

}  // namespace tpuest
