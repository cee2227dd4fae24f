#pragma once
// TPUConfig's input_partition_dims against the inputs of a model: how the cores of a replica share
// each of them.

#include <vector>

#include "core/backend/partition.h"
#include "core/estimator/options/options.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model/model_builder.h"

namespace tpuest {

// A model_fn that refuses inputs which input_partition_dims does not fit, in TensorFlow's words
// (Error kUsage), before it calls the one that is given; itself where there are none. It looks at
// what runs on a TPU, and not at exports.
[[nodiscard]] ModelFn WithInputPartition(ModelFn model_fn, const TpuConfig& config);

// How the cores share each of the placeholders of the mode's model; their axis 0 is the batch,
// whatever batch_axis says. Empty: every core has the whole tensor. The model_fn was
// WithInputPartition.
[[nodiscard]] std::vector<Partition> PartitionsOf(const EstimatorContext& context, Mode mode,
                                                  const StreamSpec& stream,
                                                  const BuiltModel& model);

}  // namespace tpuest
