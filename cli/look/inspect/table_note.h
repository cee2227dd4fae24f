#pragma once
// What a checkpoint tells about the rows of an embedding table.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shell/report.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct RowNorm {
  int64_t row = 0;
  double norm = 0;  // the root of the sum of its squares
};

struct TableNote {
  bool by_rows = false;  // the written rows alone are there
  int64_t rows = 0;      // that are there
  std::vector<RowNorm> largest;
};

// Of the weights of a table, whole or by its rows; nullopt: the tensor is none, or a slot of one.
[[nodiscard]] std::optional<TableNote> NoteOfTable(const BundleReader& reader,
                                                   const std::string& name, const Tensor& tensor);

// What the counts of a table's rows tell (tpuest/seen/TABLE).
struct SeenNote {
  int64_t rows = 0;       // that were seen
  int64_t trained = 0;    // of them
  int64_t last_step = 0;  // that saw one
};
// nullopt: the tensor is none.
[[nodiscard]] std::optional<SeenNote> NoteOfSeen(const std::string& name, const Tensor& tensor);
// "5 rows seen, 3 of them trained, the last at step 20"
[[nodiscard]] std::string TextOf(const SeenNote& note);
[[nodiscard]] Json JsonOf(const SeenNote& note);

// "5 rows written, largest norms 3: 1.25, 17: 1.1, 4: 0.9"
[[nodiscard]] std::string TextOf(const TableNote& note);
[[nodiscard]] Json JsonOf(const TableNote& note);

}  // namespace tpuest::cli
