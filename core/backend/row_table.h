#pragma once
// A RowTable holds variables [rows, D] row by row: a table's weights and its slots, float32, of
// each row in one record. A row that nobody wrote is not held: it is a pure function of seed, name
// and row, drawn when it is read. So the memory is that of the rows that were written.
//
// Of a layout nothing shows in values or files:
//   array   a record for each row, in pages that the system gives when they are written; one bit a
//           row says whether it was, and one whether its values are there: what a whole read has
//           drawn stays
//   index   records in slabs, in the order in which they came, and an open-addressing index of them
//
// Any number of threads may read while none writes.

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backend/row_keeping.h"

namespace tpuest {

class RowTable {
 public:
  // Every variable is float32 [rows, width]; the first are the weights. Error kResource where the
  // system has no room for the rows' places.
  RowTable(int64_t rows, int64_t width, std::vector<RowVariable> variables,
           const RowKeeping& options);
  ~RowTable();
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t width() const { return width_; }
  [[nodiscard]] const std::vector<RowVariable>& variables() const { return variables_; }
  [[nodiscard]] RowLayout layout() const { return layout_; }

  // The values of variable `column` in these rows, [n, width].
  void Read(int column, std::span<const int64_t> rows, float* to) const;
  // Has the record of a row brought near, for a Read or Write that comes soon.
  void Prefetch(int64_t row) const;
  // The values in rows first .. first + n - 1.
  void ReadRange(int column, int64_t first, int64_t n, float* to) const;
  // Writes one variable of a row; those of its record that were not written yet get their initial
  // values. Error kResource, with the sum, where the budget is spent. One thread at a time, and
  // none that reads: where there are others, it holds the mutex, and they hold it shared.
  void Write(int column, int64_t row, const float* values);
  // Gives rows first .. first + n - 1 values: those that are not written and are drawn so stay as
  // they are.
  void SetRange(int column, int64_t first, int64_t n, const float* values);
  // A row is as if nobody had written it. Between steps.
  void Drop(int64_t row);
  [[nodiscard]] std::shared_mutex& mutex() const { return mutex_; }

  // ---- what was written
  [[nodiscard]] int64_t written() const { return written_; }
  [[nodiscard]] bool IsWritten(int64_t row) const { return Find(row) != nullptr; }
  // Their numbers, the smallest first.
  [[nodiscard]] std::vector<int64_t> WrittenRows() const;
  [[nodiscard]] int64_t record_bytes() const { return record_bytes_; }
  // What a table of so many written rows holds, in bytes.
  [[nodiscard]] static int64_t BytesOf(int64_t rows, int64_t written, int64_t record_bytes,
                                       RowLayout layout);
  [[nodiscard]] static RowLayout LayoutOf(int64_t rows, int64_t record_bytes, RowLayout asked);

  // ---- for a step whose updates may have to be taken back
  // From now on writes are noted, until Forget.
  void Note();
  // Whether all that was written since is finite.
  [[nodiscard]] bool NotedIsFinite() const;
  void TakeBack();
  void Forget();

 private:
  // The record of a row that was written; nullptr: it was not.
  [[nodiscard]] float* Find(int64_t row) const;
  // The same of one whose values are there.
  [[nodiscard]] const float* Held(int64_t row) const;
  // The record of a row that is not held, with no values yet.
  [[nodiscard]] float* Add(int64_t row);
  [[nodiscard]] uint32_t NewPlace();
  void Remove(int64_t row);
  void Pay(int64_t bytes);

  [[nodiscard]] bool IsArray() const { return layout_ == RowLayout::kArray; }
  // ---- array
  // Draws what is not there of rows first .. first + n - 1. Holds the mutex.
  void Fill(int64_t first, int64_t n) const;
  void FillRun(int64_t first, int64_t n) const;
  // ---- index
  [[nodiscard]] uint64_t HomeOf(int64_t row) const;
  [[nodiscard]] size_t SlotOf(int64_t row) const;
  void Grow();
  [[nodiscard]] float* RecordAt(uint32_t place) const;
  [[nodiscard]] int64_t& KeyAt(uint32_t place) const;

  const int64_t rows_;
  const int64_t width_;
  const std::vector<RowVariable> variables_;
  const int64_t record_floats_;
  const int64_t record_bytes_;
  const RowLayout layout_;
  const std::shared_ptr<RowBudget> budget_;
  mutable std::shared_mutex mutex_;
  int64_t written_ = 0;
  int64_t paid_ = 0;

  float* array_ = nullptr;    // kArray: rows_ records
  uint64_t* bits_ = nullptr;  // kArray: which are written, then which have their values
  size_t array_bytes_ = 0;
  size_t bits_bytes_ = 0;
  std::vector<uint32_t> slots_;                 // kIndex: place + 1 of a record, or 0
  int64_t slab_records_ = 0;                    // a power of two
  std::vector<std::unique_ptr<char[]>> slabs_;  // records, then their rows' numbers
  std::vector<uint32_t> free_;                  // places that hold no row

  bool notes_ = false;
  std::map<int64_t, std::vector<float>> noted_;  // records before; empty: the row was not held
};

}  // namespace tpuest
