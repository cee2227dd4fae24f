#pragma once
// What the columns of a job must be, each by itself and of the columns that it is made of.

#include <string>
#include <string_view>

#include "core/nn/columns/column_set.h"

namespace tpuest::nn {

// Error kUsage at the column's place, in TensorFlow's words where it has some.
void CheckColumn(const ColumnSet& set, const FeatureColumn& column);

// The column `name`, which must be categorical, and must not weigh itself. Error kUsage at `from`;
// `what` asks for it ("indicator_column").
[[nodiscard]] const FeatureColumn& CategoricalOf(const ColumnSet& set, const std::string& name,
                                                 const Place& from, std::string_view what);

// What a bucketized column cuts. Error kUsage at the column's place.
[[nodiscard]] const NumericColumn& NumbersOf(const ColumnSet& set, const BucketizedColumn& column);

}  // namespace tpuest::nn
