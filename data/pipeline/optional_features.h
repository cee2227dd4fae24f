#pragma once
// The features that records may lack, because the input_fn says what stands in for them.

#include <map>
#include <string>

#include "data/options.h"

namespace tpuest::data {

// Such features by name, each with its default_value: FixedLenFeatures of parse_example, and of the
// `features` of JSON lines, that have one, and columns of CSV with a value in column_defaults. The
// types are those of a tf.Example: string, int64, float32. A feature that a map step makes has
// none, for its default would be the step's result. `name` is the key below input_fns.
[[nodiscard]] std::map<std::string, FixedLenFeature> OptionalFeatures(const InputFnOptions& options,
                                                                      const std::string& name);

}  // namespace tpuest::data
