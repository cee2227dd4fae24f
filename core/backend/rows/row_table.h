#pragma once
// A RowTable holds variables [rows, D] row by row: the float32 weights and slots of a table, with
// all variables of a row in one record. It holds only rows that were written. The initial value of
// any other row is a pure function of seed, name and row, computed on each read, so memory grows
// with the rows that were written.
//
// The layout affects neither values nor files:
//   array   a record for each row that this process may hold (row_array.h); initial values that a
//           read of the whole table computed are kept
//   index   a record for each row that was written, found by the row (row_index.h)
//
// Any number of threads may read while no thread writes.
//
// In a group each process holds the rows that it owns (row_owners.h):
//
//   Write(3, v) ──▶ own row: here; remote row: given to the function of PassOn, or dropped
//   AddRemote(3) ──▶ remote() gets values ──▶ Read(3) in a step ──▶ ReleaseRemote()
//   Read, ReadRange, WrittenRows between steps, in the chief       fetch from the owners

#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backend/rows/remote_rows.h"
#include "core/backend/rows/row_array.h"
#include "core/backend/rows/row_index.h"
#include "core/backend/rows/row_keeping.h"
#include "core/backend/rows/row_owners.h"
#include "core/backend/rows/row_undo.h"

namespace tpuest {

class RowTable {
 public:
  // Every variable is float32 [rows, width]; the weights come first. Error kResource if the system
  // has no address space for the rows.
  RowTable(int64_t rows, int64_t width, std::vector<RowVariable> variables,
           const RowKeeping& options, uint64_t seed = 0);
  ~RowTable();
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t width() const { return width_; }
  [[nodiscard]] const std::vector<RowVariable>& variables() const { return variables_; }
  [[nodiscard]] RowLayout layout() const { return layout_; }

  // The values of variable `column` in these rows, [n, width].
  void Read(int column, std::span<const int64_t> rows, float* to) const;
  // Read, but remote rows are filled with ones: the caller uses only its own rows, and any update
  // rule turns ones into finite numbers.
  void ReadOwn(int column, std::span<const int64_t> rows, float* to) const;
  // Prefetches the record of a row for a Read or Write that follows soon.
  void Prefetch(int64_t row) const;
  // The values in rows first .. first + n - 1.
  void ReadRange(int column, int64_t first, int64_t n, float* to) const;
  // Writes one variable of a row; on the first write of a row its other variables get their initial
  // values. Error kResource, with the sum, if the budget is spent. One thread at a time, while no
  // thread reads: the writer holds the mutex, and readers hold it shared.
  void Write(int column, int64_t row, const float* values);
  // Writes rows first .. first + n - 1. A row that was not written and whose initial value equals
  // the new one stays unwritten.
  void SetRange(int column, int64_t first, int64_t n, const float* values);
  // Makes a row unwritten again. Between steps.
  void Drop(int64_t row);
  [[nodiscard]] std::shared_mutex& mutex() const { return mutex_; }

  // ---- tables that processes share
  [[nodiscard]] const std::shared_ptr<RowOwners>& owners() const { return owners_; }
  [[nodiscard]] bool IsOwn(int64_t row) const { return !is_dealt_ || owned_.Has(row); }
  // Restricts the table to the rows that this process owns; before the call all rows are its own.
  // Written rows of other owners, and later writes to such rows, go to `pass_on`, variable by
  // variable; if it is empty they are dropped.
  using PassOnFn =
      std::function<void(int owner, int column, int64_t row, std::span<const float> values)>;
  void Deal(const PassOnFn& pass_on);
  void PassOn(PassOnFn pass_on) { pass_on_ = std::move(pass_on); }
  // Writes all rows again, for the other owners, if the table was partitioned before it was filled;
  // empty otherwise.
  std::function<void(RowTable& table)> refill;
  [[nodiscard]] bool is_dealt() const { return is_dealt_; }
  // Whether the other owners have their rows as well.
  [[nodiscard]] bool is_dealt_out() const { return is_dealt_ && refill == nullptr; }
  // Adds a remote row: Read returns the weights in remote() for it until ReleaseRemote. A row that
  // was added before stays as it is.
  void AddRemote(int64_t row) { remote_.Add(row); }
  [[nodiscard]] RemoteRows& remote() { return remote_.rows(); }
  void ReleaseRemote() { remote_.Clear(); }
  // The values of a variable in a row; nullptr if this process has not written the row.
  [[nodiscard]] const float* FindValues(int column, int64_t row) const {
    const float* const record = Find(row);
    return record == nullptr ? nullptr : record + column * width_;
  }
  // Returns these rows, with the values of the rows that were written here.
  [[nodiscard]] RemoteRows RowsFor(int column, std::vector<int64_t> rows) const;
  // The rows that were written here among first .. first + n - 1, in ascending order.
  [[nodiscard]] std::vector<int64_t> OwnRows(int64_t first, int64_t n) const;
  // The seed of the initial values.
  [[nodiscard]] uint64_t seed() const { return seed_; }

  // ---- written rows
  // The number of rows that this process wrote.
  [[nodiscard]] int64_t written() const { return written_; }
  [[nodiscard]] bool IsWritten(int64_t row) const { return Find(row) != nullptr; }
  // All of them, in ascending order.
  [[nodiscard]] std::vector<int64_t> WrittenRows() const;
  [[nodiscard]] int64_t record_bytes() const { return record_bytes_; }
  // The bytes that a table with `written` written rows holds.
  [[nodiscard]] static int64_t BytesOf(int64_t rows, int64_t written, int64_t record_bytes,
                                       RowLayout layout);
  [[nodiscard]] static RowLayout LayoutOf(int64_t rows, int64_t record_bytes, RowLayout asked);

  // ---- rollback of a step
  // Starts to log writes, until Forget or TakeBack.
  void Note() { undo_.Begin(); }
  // Whether every value that was written since then is finite.
  [[nodiscard]] bool NotedIsFinite() const { return undo_.is_finite(); }
  void TakeBack();
  void Forget() { undo_.Forget(); }

 private:
  // The record of a row; nullptr if the row was not written.
  [[nodiscard]] float* Find(int64_t row) const;
  // The record of a row that has values, written or initial.
  [[nodiscard]] const float* Held(int64_t row) const;
  // Adds the record of a row that is not held; it has no values yet.
  [[nodiscard]] float* Add(int64_t row);
  void Remove(int64_t row);
  void Pay(int64_t bytes);
  // Rows whose initial values are computed together, and their places in [n, width].
  struct DrawnRows {
    std::vector<uint64_t> firsts;  // elements of the variable
    std::vector<int64_t> places;

    void Add(int64_t first, int64_t place) {
      firsts.push_back(static_cast<uint64_t>(first));
      places.push_back(place);
    }
  };
  // Reads a row that this process owns, or adds it to the rows whose initial values are needed.
  void ReadRow(int column, int64_t row, int64_t place, float* to, DrawnRows& drawn) const;
  void Draw(int column, const DrawnRows& drawn, float* to) const;
  // Fills the rows of [n, width] that other processes own: values from the owner if the row was
  // written, otherwise its initial values unless `is_drawn` says that they are there.
  void ReadOthers(int column, std::span<const int64_t> rows, std::span<const int64_t> places,
                  bool is_drawn, float* to) const;
  // ReadRange, with initial values for remote rows.
  void ReadHere(int column, int64_t first, int64_t n, float* to) const;
  // The rows that were written here, in ascending order.
  [[nodiscard]] std::vector<int64_t> HeldRows() const;

  [[nodiscard]] bool IsArray() const { return layout_ == RowLayout::kArray; }
  // ---- array
  // The place of a row that this process may hold.
  [[nodiscard]] int64_t PlaceOf(int64_t row) const { return is_dealt_ ? owned_.PlaceOf(row) : row; }
  // Keeps only the rows of this process.
  void Shrink();
  // Computes missing initial values of rows first .. first + n - 1. Holds the mutex.
  void Fill(int64_t first, int64_t n) const;
  void FillRun(int64_t first, int64_t n) const;

  const int64_t rows_;
  const int64_t width_;
  const std::vector<RowVariable> variables_;
  const int64_t record_floats_;
  const int64_t record_bytes_;
  const RowLayout layout_;
  const std::shared_ptr<RowBudget> budget_;
  const std::shared_ptr<RowOwners> owners_;
  const uint64_t seed_;
  mutable std::shared_mutex mutex_;
  int64_t written_ = 0;
  int64_t paid_ = 0;

  mutable RowArray array_;  // kArray; keeps initial values that a read computed
  RowIndex index_;          // kIndex

  bool is_dealt_ = false;
  PassOnFn pass_on_;  // empty: writes to remote rows are dropped
  RemoteRowSet remote_;
  const OwnedRows owned_;  // rows of this process once the table is partitioned
  // Rows that an array has paid for at the start; before it is partitioned more may be written.
  const int64_t budgeted_rows_;

  RowUndo undo_;
};

}  // namespace tpuest
