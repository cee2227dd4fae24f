#pragma once
// Per-row metadata of tables, as records (RowRecords): the form in which checkpoints
// hold it and the processes of a group exchange it.
//
//   OwnRecords(tables, "t", kSeen, 0, 100)  ──▶  {3, 2, 17, 1,   8, 1, 17, 0}    rows 3 and 8
//   AllRecords, in the chief                    the same with those of the other processes

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/backend/rows/row_owners.h"
#include "core/backend/rows/table_store.h"

namespace tpuest {

// The number of integers in a record.
[[nodiscard]] size_t NumbersOfRecord(RowRecords what);
// Merges two lists of records, each in ascending order of rows.
[[nodiscard]] std::vector<int64_t> MergedRecords(RowRecords what, std::span<const int64_t> a,
                                                 std::span<const int64_t> b);

// Whether several processes share the table.
[[nodiscard]] bool IsShared(const TableStore& tables, const std::string& weights);

// The records of this process for rows first .. first + n - 1 of a table, in ascending order of
// rows. `what` decides whether they come from the table, from its changed rows or from its row
// counts.
[[nodiscard]] std::vector<int64_t> OwnRecords(const TableStore& tables, const std::string& weights,
                                              RowRecords what, int64_t first, int64_t n);
[[nodiscard]] int64_t CountOwnRecords(const TableStore& tables, const std::string& weights,
                                      RowRecords what);
// The same, including the records of the other processes that share the table.
[[nodiscard]] std::vector<int64_t> AllRecords(const TableStore& tables, const std::string& weights,
                                              RowRecords what, int64_t first, int64_t n);
[[nodiscard]] int64_t CountAllRecords(const TableStore& tables, const std::string& weights,
                                      RowRecords what);

// Adds another process's records of row counts or changed rows.
void PutRecords(TableStore& tables, const std::string& weights, RowRecords what,
                std::span<const int64_t> records);
// Drops the records of rows that this process does not own.
void KeepOwnRecords(TableStore& tables, const std::string& weights);

// Forgets which rows have changed; in the chief, also in the other processes.
void ForgetChanges(TableStore& tables);

}  // namespace tpuest
