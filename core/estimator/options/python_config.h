#pragma once
// A RunConfig as TensorFlow's log prints it.

#include <string>

#include "core/estimator/options/options.h"

namespace tpuest {

// Returns the dict that TensorFlow 2.15 prints after "Using config: ", in one line: the fields of
// RunConfig in its order, with use_tpu those of the TPU's RunConfig. Fields without a meaning here
// have TensorFlow's defaults.
[[nodiscard]] std::string PythonConfig(const EstimatorOptions& options,
                                       const std::string& model_dir);

}  // namespace tpuest
