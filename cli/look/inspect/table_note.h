#pragma once
// Summarizes the rows of an embedding table in a checkpoint.

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
  bool by_rows = false;  // only materialized rows are stored
  int64_t rows = 0;      // that are there
  std::vector<RowNorm> largest;
};

// Returns the note of a table's weights, stored whole or by rows; nullopt if the tensor is
// something else, or a slot.
[[nodiscard]] std::optional<TableNote> NoteOfTable(const BundleReader& reader,
                                                   const std::string& name, const Tensor& tensor);

// Summarizes the counts of a table's rows (tpuest/seen/TABLE).
struct SeenNote {
  int64_t rows = 0;       // that were seen
  int64_t trained = 0;    // of them
  int64_t last_step = 0;  // that saw one
};
// Returns nullopt for any other tensor.
[[nodiscard]] std::optional<SeenNote> NoteOfSeen(const std::string& name, const Tensor& tensor);
// "5 rows used, 3 of them trained, last used at step 20"
[[nodiscard]] std::string TextOf(const SeenNote& note);
[[nodiscard]] Json JsonOf(const SeenNote& note);

// "5 rows written, largest norms 3: 1.25, 17: 1.1, 4: 0.9"
[[nodiscard]] std::string TextOf(const TableNote& note);
[[nodiscard]] Json JsonOf(const TableNote& note);

}  // namespace tpuest::cli
