#pragma once
// Options of tables that are kept by rows (row_table.h), the variables of a table, and what is
// tracked per table: row counts (row_counts.h) and changed rows (row_set.h).

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tpuest {

class RowOwners;
class RowSet;
class RowCounts;
class RowTable;

// The bytes that all tables of a run may hold, and the bytes that they hold.
struct RowBudget {
  int64_t most = INT64_MAX;
  std::atomic<int64_t> held = 0;
};

enum class RowLayout { kAuto, kArray, kIndex };

// Options of all tables of a run.
struct RowKeeping {
  RowLayout layout = RowLayout::kAuto;
  std::shared_ptr<RowBudget> budget = std::make_shared<RowBudget>();
  // The processes of a group share tables of more than `least_shared` bytes (all rows, with slots);
  // each process holds smaller tables whole.
  std::shared_ptr<RowOwners> owners = nullptr;
  int64_t least_shared = 0;
};

// One variable of a table.
struct RowColumn {
  std::shared_ptr<RowTable> table;
  int column = 0;
};

// Computes n elements of a variable's initial value from each of `firsts` on, one run after
// another.
using RowDraw = std::function<void(std::span<const uint64_t> firsts, int64_t n, float* to)>;

// One of the variables of a table.
struct RowVariable {
  std::string name;
  RowDraw initial;

  // The initial values of rows first .. first + n - 1, each of `width` numbers.
  void DrawRows(int64_t first, int64_t n, int64_t width, float* to) const {
    const auto element = static_cast<uint64_t>(first * width);
    initial({&element, 1}, n * width, to);
  }
};

// A table, kept by rows or whole, whose changed rows are tracked since some moment.
struct NotedTable {
  std::shared_ptr<RowSet> changed;
  std::vector<std::string> variables;  // the weights first
};

// A table, kept by rows or whole, whose rows are counted.
struct CountedTable {
  std::shared_ptr<RowCounts> row_counts;
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<RowVariable> variables;  // the weights first
};

// The tracking of a variable that is updated by rows. Updates of the weights represent the whole
// table: slots are written together with them.
struct RowWatch {
  std::shared_ptr<RowCounts> row_counts;  // nullptr: rows are not counted
  std::shared_ptr<RowSet> changed;        // only for the weights; nullptr: changes are not tracked
  bool counts = false;                    // it is the weights
};

}  // namespace tpuest
