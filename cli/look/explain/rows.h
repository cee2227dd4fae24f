#pragma once
// Keeps the rows of an evaluation: they are read once, and replayed with changed columns.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest::cli {

// Batches of an input, and the spec of their columns.
struct KeptRows {
  StreamSpec spec;
  std::vector<std::string> files;
  std::vector<Batch> batches;

  // Number of rows without padding.
  [[nodiscard]] int64_t count() const;
};

// An input_fn that gives `of`'s batches, up to `most` rows and to the end of the batch that has
// them, and keeps them in `rows`, which must outlive it.
[[nodiscard]] InputFn Keeping(InputFn of, int64_t most, KeptRows& rows);

// Returns an input_fn that gives the kept batches, except that row i has the feature (an index into
// the spec's) of row order[i]. `rows` must outlive it.
[[nodiscard]] InputFn Shuffled(const KeptRows& rows, size_t feature, std::vector<int64_t> order);

// A kept row, possibly with one feature taken from another kept row.
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
