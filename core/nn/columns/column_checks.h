#pragma once
// Checks of a job's columns, each by itself and together with the columns that it refers to.

#include <string>
#include <string_view>

#include "core/nn/columns/column_set.h"

namespace tpuest::nn {

// Throws Error kUsage at the column's place, in TensorFlow's words if it has an error for the case.
void CheckColumn(const ColumnSet& set, const FeatureColumn& column);

// Returns the column `name`, which must be categorical and must not weight itself. Throws Error
// kUsage at `from`; `what` names the column type that asks for it ("indicator_column").
[[nodiscard]] const FeatureColumn& CategoricalOf(const ColumnSet& set, const std::string& name,
                                                 const Place& from, std::string_view what);

// Returns the numeric column that a bucketized column reads. Throws Error kUsage at the column's
// place.
[[nodiscard]] const NumericColumn& NumbersOf(const ColumnSet& set, const BucketizedColumn& column);

}  // namespace tpuest::nn
