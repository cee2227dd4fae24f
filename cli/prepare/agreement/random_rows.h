#pragma once
// Random rows of features, with the values that feature columns tell apart.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/prepare/migrate/columns.h"
#include "core/base/random.h"
#include "core/tensor/tensor.h"

namespace tpuest::cli {

// A feature of a batch. Of lists of any length `values` is [rows, longest] and `lengths` says how
// many values of each row are there; the rest is 0, -1 or "".
struct RandomFeature {
  Tensor values;
  std::vector<int64_t> lengths;  // empty: every value is there
};

struct SparseRows {
  Tensor indices;
  Tensor values;
  Tensor shape;
};

class RandomRows {
 public:
  RandomRows(uint64_t seed, int64_t rows) : seed_(seed), rows_(rows) {}

  // `dtype` is TensorFlow's number. Error kData for one that features do not have.
  [[nodiscard]] RandomFeature Dense(const std::string& name, int64_t dtype,
                                    const std::vector<int64_t>& shape,
                                    const MigratedFeature& feature) const;
  // Lists of 0 to 3 values, in a row as many for each feature: some are weights of others.
  [[nodiscard]] RandomFeature List(const std::string& name, int64_t dtype,
                                   const MigratedFeature& feature) const;

 private:
  const uint64_t seed_;
  const int64_t rows_;
};

[[nodiscard]] SparseRows SparseOf(const RandomFeature& feature);
// bool [rows, longest]: the values that are there.
[[nodiscard]] Tensor PresentOf(const RandomFeature& feature);

}  // namespace tpuest::cli
