#pragma once
// The owners of a table's rows in a group of two, where the other process is a store in this one.

#include <algorithm>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_table.h"
#include "core/backend/rows/table_records.h"

namespace tpuest {

class OtherProcess final : public RowOwners {
 public:
  // Rank `rank` of two or more; the store of the other process, or nullptr.
  explicit OtherProcess(RowDeal deal, int rank = 0, VariableStore* other = nullptr,
                        int processes = 2)
      : RowOwners(processes, rank, deal), other_(other) {}

  [[nodiscard]] std::vector<int64_t> Records(const std::string& table, RowRecords what,
                                             int64_t first, int64_t n) override {
    if (other_ == nullptr) return {};
    return OwnRecords(other_->tables(), table, what, first, n);
  }
  [[nodiscard]] int64_t CountRecords(const std::string& table, RowRecords what) override {
    return other_ == nullptr ? 0 : CountOwnRecords(other_->tables(), table, what);
  }
  void ForgetChanges() override {
    if (other_ != nullptr) tpuest::ForgetChanges(other_->tables());
  }
  [[nodiscard]] std::vector<bool> Read(const std::string& variable, int64_t /*table_rows*/,
                                       std::span<const int64_t> rows, int64_t /*width*/,
                                       float* to) override {
    if (other_ == nullptr) return std::vector<bool>(rows.size());
    const RowColumn& theirs = *other_->tables().Find(variable);
    const RemoteRows found = theirs.table->RowsFor(theirs.column, {rows.begin(), rows.end()});
    std::copy(found.values.begin(), found.values.end(), to);
    return {found.written.begin(), found.written.end()};
  }

 private:
  VariableStore* const other_;
};

}  // namespace tpuest
