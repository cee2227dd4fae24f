#pragma once
// The features that records may lack because the input_fn gives a default.

#include <map>
#include <string>

#include "data/options.h"

namespace tpuest::data {

// Returns these features by name with their default_value: FixedLenFeatures of parse_example and of
// the `features` of JSON lines with a default, and CSV columns with a value in column_defaults. The
// types are those of a tf.Example: string, int64, float32. Results of map steps are not included,
// because their default would be the step's result. `name` is the key below input_fns.
[[nodiscard]] std::map<std::string, FixedLenFeature> OptionalFeatures(const InputFnOptions& options,
                                                                      const std::string& name);

}  // namespace tpuest::data
