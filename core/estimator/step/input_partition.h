#pragma once
// Applies TPUConfig's input_partition_dims to the inputs of a model: how the cores of a replica
// share each of them.

#include <vector>

#include "core/backend/partition.h"
#include "core/estimator/options/options.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model/model_builder.h"

namespace tpuest {

// Returns a model_fn that checks the inputs against input_partition_dims before it calls the given
// one, which is returned itself if there are no dims. Throws Error kUsage, in TensorFlow's words,
// for inputs that do not fit. Checks only what runs on a TPU, not exports.
[[nodiscard]] ModelFn WithInputPartition(ModelFn model_fn, const TpuConfig& config);

// Returns how the cores share each of the placeholders of the mode's model; their axis 0 is the
// batch, whatever batch_axis says. Empty: every core has the whole tensor. The model_fn must come
// from WithInputPartition.
[[nodiscard]] std::vector<Partition> PartitionsOf(const EstimatorContext& context, Mode mode,
                                                  const StreamSpec& stream,
                                                  const BuiltModel& model);

}  // namespace tpuest
