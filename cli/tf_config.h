#pragma once
// The environment's TF_CONFIG, by which TensorFlow's launchers say who is who.

namespace tpuest::cli {

// Whether it makes this process the evaluator of a training that others do. Error kUsage if it is
// no JSON object or names another evaluator than the one there can be.
[[nodiscard]] bool IsEvaluatorTask();

}  // namespace tpuest::cli
