#pragma once
// The weights of a linear model by the names of columns and categories.

#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "cli/look/explain/rows.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct ColumnWeight {
  std::string column;           // of the job's feature_columns; "(bias)"
  std::string category;         // "": a number
  std::vector<double> weights;  // one a logit
  bool named = true;            // false for a hash bucket without a word in the kept rows
};

// Returns the weights of the linear part of the job's model, in the order of columns and
// categories; empty if it has none. Words of hashed columns come from `rows`. Throws the errors of
// BundleReader.
[[nodiscard]] std::vector<ColumnWeight> LinearWeights(const Job& job,
                                                      const BundleReader& checkpoint,
                                                      const KeptRows& rows);

}  // namespace tpuest::cli
