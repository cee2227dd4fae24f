#include "core/backend/rows/row_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/backend/rows/row_slots.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

constexpr int64_t kSlabBytes = int64_t{1} << 20;
constexpr size_t kFirstSlots = 1024;

int64_t SlabRecords(int64_t record_bytes) {
  const int64_t records = std::max<int64_t>(kSlabBytes / (record_bytes + 8), 1);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(records)));
}

int64_t RecordsBytes(int64_t record_bytes) {
  return (SlabRecords(record_bytes) * record_bytes + 7) / 8 * 8;
}
int64_t SlabBytes(int64_t record_bytes) {
  return RecordsBytes(record_bytes) + SlabRecords(record_bytes) * 8;
}

// The slots of an index of so many records: at most three quarters of them are taken.
int64_t SlotsFor(int64_t records) {
  const auto needed = static_cast<uint64_t>(records + records / 3 + 1);
  return static_cast<int64_t>(std::max<uint64_t>(std::bit_ceil(needed), kFirstSlots));
}

}  // namespace

RowIndex::RowIndex(int64_t record_bytes)
    : record_bytes_(record_bytes), slab_records_(SlabRecords(record_bytes)), slots_(kFirstSlots) {}

int64_t RowIndex::BytesOf(int64_t written, int64_t record_bytes) {
  const int64_t records = SlabRecords(record_bytes);
  const int64_t slabs = (written + records - 1) / records;
  return slabs * SlabBytes(record_bytes) + SlotsFor(written) * 4;
}

float* RowIndex::RecordAt(uint32_t place) const {
  char* const slab = slabs_[place / static_cast<uint64_t>(slab_records_)].get();
  const auto at = static_cast<int64_t>(place & static_cast<uint64_t>(slab_records_ - 1));
  return reinterpret_cast<float*>(slab + at * record_bytes_);
}

int64_t& RowIndex::KeyAt(uint32_t place) const {
  char* const slab = slabs_[place / static_cast<uint64_t>(slab_records_)].get();
  const auto at = static_cast<int64_t>(place & static_cast<uint64_t>(slab_records_ - 1));
  return reinterpret_cast<int64_t*>(slab + RecordsBytes(record_bytes_))[at];
}

size_t RowIndex::SlotOf(int64_t row) const {
  return FindSlot(row, slots_, [&](uint32_t place) { return KeyAt(place); });
}

size_t RowIndex::NextSlots() const { return static_cast<size_t>(SlotsFor(records_ + 1)); }

int64_t RowIndex::BytesToGrow(size_t slots) const {
  const size_t more = slots > slots_.size() ? slots - slots_.size() : 0;
  return static_cast<int64_t>(more * sizeof(uint32_t)) +
         (free_.empty() ? SlabBytes(record_bytes_) : 0);
}

void RowIndex::GrowTo(size_t slots) {
  if (free_.empty()) AddSlab();
  if (slots <= slots_.size()) return;
  std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots, 0));
  for (const uint32_t at : old) {
    if (at != 0) slots_[SlotOf(KeyAt(at - 1))] = at;
  }
}

void RowIndex::AddSlab() {
  const auto bytes = static_cast<size_t>(SlabBytes(record_bytes_));
  slabs_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
  const auto first = (slabs_.size() - 1) * static_cast<size_t>(slab_records_);
  Check(first + static_cast<size_t>(slab_records_) < UINT32_MAX, "a table of 2^32 records");
  // Places are taken from the back, so the first place of a slab goes last.
  for (int64_t i = slab_records_ - 1; i >= 0; --i) {
    const auto place = static_cast<uint32_t>(first + static_cast<size_t>(i));
    KeyAt(place) = -1;
    free_.push_back(place);
  }
}

float* RowIndex::Insert(int64_t row) {
  const uint32_t place = free_.back();
  free_.pop_back();
  KeyAt(place) = row;
  slots_[SlotOf(row)] = place + 1;
  ++records_;
  return RecordAt(place);
}

// Entries after the slot that becomes free move up, so that no search ends too soon.
void RowIndex::Remove(int64_t row) {
  --records_;
  const size_t mask = slots_.size() - 1;
  size_t hole = SlotOf(row);
  free_.push_back(slots_[hole] - 1);
  KeyAt(slots_[hole] - 1) = -1;
  slots_[hole] = 0;
  for (size_t slot = (hole + 1) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const size_t home = HomeSlot(KeyAt(slots_[slot] - 1), slots_.size());
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    slots_[hole] = std::exchange(slots_[slot], 0);
    hole = slot;
  }
}

void RowIndex::Prefetch(int64_t row) const {
  __builtin_prefetch(&slots_[HomeSlot(row, slots_.size())]);
}

std::vector<int64_t> RowIndex::Rows() const {
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(records_));
  for (const uint32_t at : slots_) {
    if (at != 0) rows.push_back(KeyAt(at - 1));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace tpuest
