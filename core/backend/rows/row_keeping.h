#pragma once
// How the tables of a run are kept by rows (row_table.h), which of them a variable is, and of which
// the rows are counted (row_sights.h) or those that change are noted (row_set.h).

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
class RowSights;
class RowTable;

// The bytes that all tables of a run may hold, and those that they do.
struct RowBudget {
  int64_t most = INT64_MAX;
  std::atomic<int64_t> held = 0;
};

enum class RowLayout { kAuto, kArray, kIndex };

// How the tables of a run are kept.
struct RowKeeping {
  RowLayout layout = RowLayout::kAuto;
  std::shared_ptr<RowBudget> budget = std::make_shared<RowBudget>();
  // Of a group whose processes share tables that have more bytes than these, with all rows and
  // slots; it keeps the others whole.
  std::shared_ptr<RowOwners> owners = nullptr;
  int64_t least_shared = 0;
};

// One variable of a table.
struct RowColumn {
  std::shared_ptr<RowTable> table;
  int column = 0;
};

// Draws n elements of a variable's initial value from each of `firsts` on, one behind the other.
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

// A table, kept by rows or whole, of which it is known which rows have changed since some moment.
struct NotedTable {
  std::shared_ptr<RowSet> changed;
  std::vector<std::string> variables;  // the weights first
};

// A table, kept by rows or whole, whose rows are counted.
struct CountedTable {
  std::shared_ptr<RowSights> sights;
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<RowVariable> variables;  // the weights first
};

// How a variable of a table is watched that is updated by rows. What its weights' updates write is
// what is seen of the table, and what changes: slots are written beside them.
struct RowWatch {
  std::shared_ptr<RowSights> sights;  // nullptr: rows are not counted
  std::shared_ptr<RowSet> changed;    // of the weights alone; nullptr: changes are not noted
  bool counts = false;                // it is the weights
};

}  // namespace tpuest
