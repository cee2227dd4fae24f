#pragma once
// Random rows of features, with values that feature columns treat differently.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/prepare/migrate/columns/columns.h"
#include "core/base/random.h"
#include "core/tensor/tensor.h"

namespace tpuest::cli {

// A feature of a batch. For lists of variable length, `values` is [rows, longest] and `lengths` has
// the number of values per row; the others are 0, -1 or "".
struct RandomFeature {
  Tensor values;
  std::vector<int64_t> lengths;  // empty if every value is present
};

struct SparseRows {
  Tensor indices;
  Tensor values;
  Tensor shape;
};

class RandomRows {
 public:
  RandomRows(uint64_t seed, int64_t rows) : seed_(seed), rows_(rows) {}

  // `dtype` is TensorFlow's number. Error kData for a type that features cannot have.
  [[nodiscard]] RandomFeature Dense(const std::string& name, int64_t dtype,
                                    const std::vector<int64_t>& shape,
                                    const MigratedFeature& feature) const;
  // Returns lists of 0 to 3 values, equally many in each feature of a row, because some features
  // are weights of others.
  [[nodiscard]] RandomFeature List(const std::string& name, int64_t dtype,
                                   const MigratedFeature& feature) const;

 private:
  const uint64_t seed_;
  const int64_t rows_;
};

[[nodiscard]] SparseRows SparseOf(const RandomFeature& feature);
// Returns bool [rows, longest]: true for values that are present.
[[nodiscard]] Tensor PresentOf(const RandomFeature& feature);

}  // namespace tpuest::cli
