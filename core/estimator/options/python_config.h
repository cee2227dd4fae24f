#pragma once
// A RunConfig in the words of a log of TensorFlow's.

#include <string>

#include "core/estimator/options/options.h"

namespace tpuest {

// The dict that TensorFlow 2.15 prints behind "Using config: ", in one line: the fields of
// RunConfig in its order, with use_tpu those of the TPU's RunConfig. Fields that mean nothing here
// have TensorFlow's defaults.
[[nodiscard]] std::string PythonConfig(const EstimatorOptions& options,
                                       const std::string& model_dir);

}  // namespace tpuest
