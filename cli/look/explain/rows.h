#pragma once
// The rows of an evaluation, kept: they are read once, and given again with columns changed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest::cli {

// Batches as an input gives them, and what it says of their columns.
struct KeptRows {
  StreamSpec spec;
  std::vector<std::string> files;
  std::vector<Batch> batches;

  // The rows that are no padding.
  [[nodiscard]] int64_t count() const;
};

// An input_fn that gives `of`'s batches, up to `most` rows and to the end of the batch that has
// them, and keeps them in `rows`, which outlives it.
[[nodiscard]] InputFn Keeping(InputFn of, int64_t most, KeptRows& rows);

// An input_fn that gives the kept batches, but that row i has the feature (an index into the
// spec's) of row order[i]. `rows` outlives it.
[[nodiscard]] InputFn Shuffled(const KeptRows& rows, size_t feature, std::vector<int64_t> order);

// A kept row, or one whose feature is that of another kept row.
struct MixedRow {
  int64_t row = 0;
  std::optional<size_t> feature;
  int64_t from = 0;
};
// An input_fn that gives these rows, without labels, in batches as they are asked for.
[[nodiscard]] InputFn Mixed(const KeptRows& rows, std::vector<MixedRow> mixed);

// A feature of one kept row, [1, ...].
[[nodiscard]] Tensor ValueOf(const KeptRows& rows, size_t feature, int64_t row);

}  // namespace tpuest::cli
