#pragma once
// Checks of a job's columns, each by itself and with the columns that it is made of.

#include <string>
#include <string_view>

#include "core/nn/columns/column_set.h"

namespace tpuest::nn {

// Throws Error kUsage at the column's place, in TensorFlow's words where it has some.
void CheckColumn(const ColumnSet& set, const FeatureColumn& column);

// The column `name`, which must be categorical, and must not weigh itself. Throws Error kUsage at
// `from`; `what` asks for it ("indicator_column").
[[nodiscard]] const FeatureColumn& CategoricalOf(const ColumnSet& set, const std::string& name,
                                                 const Place& from, std::string_view what);

// The numeric column that a bucketized one cuts. Throws Error kUsage at the column's place.
[[nodiscard]] const NumericColumn& NumbersOf(const ColumnSet& set, const BucketizedColumn& column);

}  // namespace tpuest::nn
