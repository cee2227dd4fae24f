#pragma once
// Looks for the place where a step's numbers stop being finite.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/step/estimator_context.h"

namespace tpuest {

// A tensor with values that are infinite or NaN.
struct NotFiniteTensor {
  std::string node;  // "dense/MatMul"
  std::string op;    // "MatMul"
  Place place;       // of its layer in the job, if that is known
  std::string kind;  // "NaN", or "inf" where none is NaN
  std::string shape;
  // Those of the global batch that have such values; empty where it is about no rows.
  std::vector<int64_t> rows;
};

// Computes the training step of a global batch on model_dir's newest checkpoint, changing nothing,
// and gives the first of its tensors that is not finite though all that it is computed from is;
// where there is none, the first that is not. nullopt: all are finite. Throws what building and
// running the step throws.
[[nodiscard]] std::optional<NotFiniteTensor> FirstNotFinite(const EstimatorContext& context,
                                                            const StreamSpec& stream,
                                                            const Batch& batch);

}  // namespace tpuest
