#pragma once
// Finds the place where a step's numbers stop being finite.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/step/estimator_context.h"

namespace tpuest {

// A tensor with infinite or NaN values.
struct NotFiniteTensor {
  std::string node;  // "dense/MatMul"
  std::string op;    // "MatMul"
  Place place;       // of its layer in the job, if known
  std::string kind;  // "NaN", or "inf" if no value is NaN
  std::string shape;
  // The rows of the global batch with such values; empty if the tensor does not consist of rows.
  std::vector<int64_t> rows;
};

// Computes the training step of a global batch on model_dir's newest checkpoint, changing nothing,
// and returns the first tensor that is not finite although its inputs are or, if there is none, the
// first that is not finite; nullopt if all are. Throws errors of building and running the step.
[[nodiscard]] std::optional<NotFiniteTensor> FirstNotFinite(const EstimatorContext& context,
                                                            const StreamSpec& stream,
                                                            const Batch& batch);

}  // namespace tpuest
