#pragma once
// Rows of one variable of a table, as one process sends them to another, and the set of them that a
// process holds for a step.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpuest {

struct RemoteRows {
  std::vector<int64_t> rows;     // unique
  std::vector<uint8_t> written;  // per row: 1 if it was written, 0 if it has its initial value
  std::vector<float> values;     // [rows.size(), width]; set for written rows

  void Resize(int64_t width) {
    written.resize(rows.size());
    values.resize(rows.size() * static_cast<size_t>(width));
  }
};

// Remote rows that are found by their numbers.
class RemoteRowSet {
 public:
  [[nodiscard]] RemoteRows& rows() { return rows_; }
  [[nodiscard]] const RemoteRows& rows() const { return rows_; }
  // Adds a row without values; one that is in the set stays as it is.
  void Add(int64_t row);
  // The index of a row in rows(); -1 if it is not in the set.
  [[nodiscard]] int64_t Find(int64_t row) const;
  // Removes all rows and keeps their memory for the next ones.
  void Clear();

 private:
  // The slot of a row, or the free slot where it would go.
  [[nodiscard]] size_t SlotOf(int64_t row) const;

  RemoteRows rows_;
  std::vector<uint32_t> slots_;  // index + 1 in rows_, or 0
};

}  // namespace tpuest
