#pragma once
// How the tables of a run are kept by rows (row_table.h), and which of them a variable is.

#include <atomic>
#include <cstdint>
#include <memory>

namespace tpuest {

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

}  // namespace tpuest
