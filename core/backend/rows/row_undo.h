#pragma once
// What a step overwrote in a RowTable (row_table.h), so that a step that is not finite is taken
// back.

#include <cstdint>
#include <vector>

namespace tpuest {

// Logs the writes of rows of `width` numbers, in their order.
class RowUndo {
 public:
  explicit RowUndo(int64_t width) : width_(width) {}

  // Forgets the log and starts a new one.
  void Begin();
  [[nodiscard]] bool is_on() const { return is_on_; }
  // Logs a write of one variable of a row: the values `before` it, nullptr if the row was not held,
  // and those that are written.
  void Log(int column, int64_t row, const float* before, const float* values);
  // Whether every value that was written is finite.
  [[nodiscard]] bool is_finite() const { return is_finite_; }
  void Forget();

  // Undoes the writes, the last one first, so that the oldest values of a row that was written
  // twice remain: calls remove(row) for a row that was not held and restore(column, row, before)
  // for one that was. Then forgets the log.
  template <class Remove, class Restore>
  void TakeBack(const Remove& remove, const Restore& restore) {
    const float* before = values_.data() + values_.size();
    for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
      if (write->column == kNewRow) {
        remove(write->row);
      } else {
        before -= width_;
        restore(write->column, write->row, before);
      }
    }
    Forget();
  }

 private:
  static constexpr int kNewRow = -1;
  struct Write {
    int64_t row;
    int column;  // kNewRow: the row was not held
  };

  const int64_t width_;
  bool is_on_ = false;
  bool is_finite_ = true;
  std::vector<Write> writes_;
  std::vector<float> values_;  // [width] per write that has a column
};

}  // namespace tpuest
