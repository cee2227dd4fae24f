#pragma once
// What a store knows of the rows of a table, in lines (RowLines): what checkpoints have of it, and
// what the processes of a group that share the table tell each other.
//
//   OwnLines(store, "t", kSeen, 0, 100)  ──▶  {3, 2, 17, 1,   8, 1, 17, 0}    rows 3 and 8
//   AllLines, in the chief                    the same with those of the other processes

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_owners.h"

namespace tpuest {

// The numbers of a line.
[[nodiscard]] size_t NumbersOfLine(RowLines what);
// Lines of two lists of which each has the smallest row first, so.
[[nodiscard]] std::vector<int64_t> MergedLines(RowLines what, std::span<const int64_t> a,
                                               std::span<const int64_t> b);

// Whether other processes have rows of a table as well.
[[nodiscard]] bool IsShared(const VariableStore& store, const std::string& weights);

// The lines of this process for rows first .. first + n - 1 of a table that is kept by rows, noted
// or counted as `what` says; the smallest row first.
[[nodiscard]] std::vector<int64_t> OwnLines(const VariableStore& store, const std::string& weights,
                                            RowLines what, int64_t first, int64_t n);
[[nodiscard]] int64_t CountOwnLines(const VariableStore& store, const std::string& weights,
                                    RowLines what);
// The same with the lines of those that share the table.
[[nodiscard]] std::vector<int64_t> AllLines(const VariableStore& store, const std::string& weights,
                                            RowLines what, int64_t first, int64_t n);
[[nodiscard]] int64_t CountAllLines(const VariableStore& store, const std::string& weights,
                                    RowLines what);

// Takes in lines of another process of what is counted or noted.
void PutLines(VariableStore& store, const std::string& weights, RowLines what,
              std::span<const int64_t> lines);
// From now on it has those of its own rows alone.
void KeepOwnLines(VariableStore& store, const std::string& weights);

// Nothing has changed so far: not here and, in the chief, nowhere else.
void ForgetChanges(VariableStore& store);

}  // namespace tpuest
