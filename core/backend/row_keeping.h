#pragma once
// How the tables of a run are kept by rows (row_table.h), which of them a variable is, and whose
// rows are counted (row_sights.h).

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tpuest {

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
};

// One variable of a table.
struct RowColumn {
  std::shared_ptr<RowTable> table;
  int column = 0;
};

// Draws elements first .. first + n - 1 of a variable's initial value.
using RowDraw = std::function<void(uint64_t first, int64_t n, float* to)>;

// One of the variables of a table.
struct RowVariable {
  std::string name;
  RowDraw initial;
};

// A table, kept by rows or whole, whose rows are counted.
struct CountedTable {
  std::shared_ptr<RowSights> sights;
  int64_t width = 0;
  std::vector<RowVariable> variables;  // the weights first
};

// How a variable of such a table is updated.
struct RowWatch {
  std::shared_ptr<RowSights> sights;
  bool counts = false;  // its updates are what is seen: it is the weights
};

}  // namespace tpuest
