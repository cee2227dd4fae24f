#pragma once
// A RowTable holds variables [rows, D] row by row: a table's weights and its slots, float32, of
// each row in one record. A row that nobody wrote is not held: it is a pure function of seed, name
// and row, drawn when it is read. So the memory is that of the rows that were written.
//
// Of a layout nothing shows in values or files:
//   array   a record for each row that this process may hold (mapped_rows.h): what a whole read has
//           drawn stays
//   index   records in slabs, in the order in which they came, and an open-addressing index of them
//
// Any number of threads may read while none writes.
//
// In a group each process holds the rows that it owns (row_owners.h):
//
//   Write(3, v) ──▶ own: here; another's: dropped, or what PassOn names takes it on its way there
//   AddGuest(3) ──▶ guests() get values ──▶ Read(3) in a step ──▶ LetGuestsGo()
//   Read, ReadRange, WrittenRows between steps, in the chief       asked of the owners

#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backend/rows/mapped_rows.h"
#include "core/backend/rows/row_keeping.h"
#include "core/backend/rows/row_owners.h"

namespace tpuest {

// Some rows of one variable of a table, of which others may ask.
struct GuestRows {
  std::vector<int64_t> rows;     // none twice
  std::vector<uint8_t> written;  // of each: 1; 0: it is drawn
  std::vector<float> values;     // [rows.size(), width], of those that are written

  void Resize(int64_t width) {
    written.resize(rows.size());
    values.resize(rows.size() * static_cast<size_t>(width));
  }
};

class RowTable {
 public:
  // Every variable is float32 [rows, width]; the first are the weights. Error kResource where the
  // system has no room for the rows' places.
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
  // The same for who needs those of this process's own rows: the others' are ones, which any rule
  // of an update makes finite numbers of.
  void ReadOwn(int column, std::span<const int64_t> rows, float* to) const;
  // Has the record of a row brought near, for a Read or Write that comes soon.
  void Prefetch(int64_t row) const;
  // The values in rows first .. first + n - 1.
  void ReadRange(int column, int64_t first, int64_t n, float* to) const;
  // Writes one variable of a row; those of its record that were not written yet get their initial
  // values. Error kResource, with the sum, where the budget is spent. One thread at a time, and
  // none that reads: where there are others, it holds the mutex, and they hold it shared.
  void Write(int column, int64_t row, const float* values);
  // Gives rows first .. first + n - 1 values: those that are not written here and are drawn so stay
  // as they are.
  void SetRange(int column, int64_t first, int64_t n, const float* values);
  // A row is as if nobody had written it. Between steps.
  void Drop(int64_t row);
  [[nodiscard]] std::shared_mutex& mutex() const { return mutex_; }

  // ---- where processes share its rows
  [[nodiscard]] const std::shared_ptr<RowOwners>& owners() const { return owners_; }
  [[nodiscard]] bool IsOwn(int64_t row) const { return !is_dealt_ || owned_.Has(row); }
  // From now on it holds rows of its own alone, and has room for these; until then all are. Others'
  // written rows go, as what is written to others' rows does from then on: to `pass_on`, variable
  // by variable, or nowhere.
  using PassOnFn =
      std::function<void(int owner, int column, int64_t row, std::span<const float> values)>;
  void Deal(const PassOnFn& pass_on);
  void PassOn(PassOnFn pass_on) { pass_on_ = std::move(pass_on); }
  // What writes all rows once more, for the others, of a table that began dealt; empty: nothing was
  // written to it but what it held when it was dealt.
  std::function<void(RowTable& table)> refill;
  [[nodiscard]] bool is_dealt() const { return is_dealt_; }
  // Whether the others have theirs, too.
  [[nodiscard]] bool is_dealt_out() const { return is_dealt_ && refill == nullptr; }
  // Others' rows of which Read gives what guests() have for the weights, until they are let go. One
  // that is there already stays as it is.
  void AddGuest(int64_t row);
  [[nodiscard]] GuestRows& guests() { return guests_; }
  void LetGuestsGo();
  // The values of a variable in a row; nullptr: it is not written here.
  [[nodiscard]] const float* FindValues(int column, int64_t row) const {
    const float* const record = Find(row);
    return record == nullptr ? nullptr : record + column * width_;
  }
  // Which of these rows are written here, with their values.
  [[nodiscard]] GuestRows RowsFor(int column, std::vector<int64_t> rows) const;
  // The numbers of those written here among first .. first + n - 1, the smallest first.
  [[nodiscard]] std::vector<int64_t> OwnRows(int64_t first, int64_t n) const;
  // The seed of what is drawn, for who makes the same table.
  [[nodiscard]] uint64_t seed() const { return seed_; }

  // ---- what was written
  // By this process.
  [[nodiscard]] int64_t written() const { return written_; }
  [[nodiscard]] bool IsWritten(int64_t row) const { return Find(row) != nullptr; }
  // The numbers of all, the smallest first.
  [[nodiscard]] std::vector<int64_t> WrittenRows() const;
  [[nodiscard]] int64_t record_bytes() const { return record_bytes_; }
  // What a table of so many written rows holds, in bytes.
  [[nodiscard]] static int64_t BytesOf(int64_t rows, int64_t written, int64_t record_bytes,
                                       RowLayout layout);
  [[nodiscard]] static RowLayout LayoutOf(int64_t rows, int64_t record_bytes, RowLayout asked);

  // ---- for a step whose updates may have to be taken back
  // From now on writes are noted, until Forget or TakeBack.
  void Note();
  // Whether all that was written since is finite.
  [[nodiscard]] bool NotedIsFinite() const { return noted_is_finite_; }
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
  // Of a write: what the record has, or that there is none.
  void NoteWrite(int column, int64_t row, const float* record, const float* values);
  // Rows that are drawn together, and where they go in [n, width].
  struct DrawnRows {
    std::vector<uint64_t> firsts;  // elements of the variable
    std::vector<int64_t> places;

    void Add(int64_t first, int64_t place) {
      firsts.push_back(static_cast<uint64_t>(first));
      places.push_back(place);
    }
  };
  // A row of this process's own: read, or one more of those that are drawn.
  void ReadRow(int column, int64_t row, int64_t place, float* to, DrawnRows& drawn) const;
  void Draw(int column, const DrawnRows& drawn, float* to) const;
  // Where a guest is among all; -1: it is none.
  [[nodiscard]] int64_t GuestAt(int64_t row) const;
  // The slot of a guest, or the one where it would go.
  [[nodiscard]] size_t GuestSlot(int64_t row) const;
  // Puts others' rows where they are missing in [n, width]: those that are written, as told by
  // their owners; of the rest those of which nothing stands there are drawn.
  void ReadOthers(int column, std::span<const int64_t> rows, std::span<const int64_t> places,
                  bool is_drawn, float* to) const;
  // ReadRange, with others' rows as they are drawn.
  void ReadHere(int column, int64_t first, int64_t n, float* to) const;
  // The numbers of the rows written here, the smallest first.
  [[nodiscard]] std::vector<int64_t> HeldRows() const;

  [[nodiscard]] bool IsArray() const { return layout_ == RowLayout::kArray; }
  // ---- array
  // Where a row that this process may hold is.
  [[nodiscard]] int64_t PlaceOf(int64_t row) const { return is_dealt_ ? owned_.PlaceOf(row) : row; }
  // Keeps the rows of this process alone.
  void Shrink();
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
  const std::shared_ptr<RowOwners> owners_;
  const uint64_t seed_;
  mutable std::shared_mutex mutex_;
  int64_t written_ = 0;
  int64_t paid_ = 0;

  mutable MappedRows array_;                    // kArray; what a read draws stays
  std::vector<uint32_t> slots_;                 // kIndex: place + 1 of a record, or 0
  int64_t slab_records_ = 0;                    // a power of two
  std::vector<std::unique_ptr<char[]>> slabs_;  // records, then their rows' numbers
  std::vector<uint32_t> free_;                  // places that hold no row

  bool is_dealt_ = false;
  PassOnFn pass_on_;  // empty: it goes nowhere
  GuestRows guests_;
  std::vector<uint32_t> guest_slots_;  // place + 1 of a guest, or 0
  const OwnedRows owned_;              // those of this process, once it is dealt
  // Those that an array has paid for from the start: until it is dealt more may be written.
  const int64_t budgeted_rows_;

  // What was written over since Note, in the order of the writes.
  struct NotedWrite {
    int64_t row;
    int column;  // kNewRow: the row was not held
  };
  static constexpr int kNewRow = -1;
  bool notes_ = false;
  bool noted_is_finite_ = true;
  std::vector<NotedWrite> noted_;
  std::vector<float> noted_values_;  // [width] of each that is of a column
};

}  // namespace tpuest
