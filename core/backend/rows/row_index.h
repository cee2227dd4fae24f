#pragma once
// The index layout of a RowTable (row_table.h): records in slabs of about 1 MiB, in order of
// insertion, and an open-addressing index of them by row (row_slots.h). Behind the records of a
// slab are the numbers of their rows, at a multiple of 8 bytes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tpuest {

class RowIndex {
 public:
  RowIndex() = default;  // of no records
  explicit RowIndex(int64_t record_bytes);

  // The bytes that an index of `written` records holds.
  [[nodiscard]] static int64_t BytesOf(int64_t written, int64_t record_bytes);

  // The record of a row; nullptr if there is none.
  [[nodiscard]] float* Find(int64_t row) const {
    const uint32_t at = slots_[SlotOf(row)];
    return at == 0 ? nullptr : RecordAt(at - 1);
  }
  // Adds the record of a row that has none; it has no values yet. Before it allocates memory, which
  // is rare, it calls pay(bytes); if that throws, nothing is added.
  template <class Pay>
  [[nodiscard]] float* Add(int64_t row, const Pay& pay) {
    const size_t slots = NextSlots();
    const bool grows = slots > slots_.size() || free_.empty();
    if (grows) {
      pay(BytesToGrow(slots));
      GrowTo(slots);
    }
    return Insert(row);
  }
  // Removes the record of a row that has one.
  void Remove(int64_t row);
  // Prefetches the slot at which the search for a row begins.
  void Prefetch(int64_t row) const;
  // The rows that have records, in ascending order.
  [[nodiscard]] std::vector<int64_t> Rows() const;

 private:
  [[nodiscard]] size_t SlotOf(int64_t row) const;
  [[nodiscard]] float* RecordAt(uint32_t place) const;
  [[nodiscard]] int64_t& KeyAt(uint32_t place) const;
  // The number of slots that one more record needs.
  [[nodiscard]] size_t NextSlots() const;
  // The bytes that GrowTo(slots) allocates.
  [[nodiscard]] int64_t BytesToGrow(size_t slots) const;
  // Makes room for one more record.
  void GrowTo(size_t slots);
  void AddSlab();
  [[nodiscard]] float* Insert(int64_t row);

  int64_t record_bytes_ = 0;
  int64_t slab_records_ = 0;                    // a power of two
  int64_t records_ = 0;                         // that rows have
  std::vector<uint32_t> slots_;                 // place + 1 of a record, or 0
  std::vector<std::unique_ptr<char[]>> slabs_;  // records, then their rows' numbers
  std::vector<uint32_t> free_;                  // places that hold no row
};

}  // namespace tpuest
