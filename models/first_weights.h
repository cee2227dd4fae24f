#pragma once
// Models whose initial weights come from files.

#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/nn/layers/layer.h"

namespace tpuest::models {

// Adds an init_fn to the spec's scaffold that gives the variables the weights of files; later files
// override earlier ones. The weights are read when a run starts without a checkpoint, so only then
// is a missing file an Error. Weights that do not fit are found at once, at the file's place in the
// job: Error kCheckpoint, kData.
void StartFromFiles(const nn::LayerContext& context, const std::vector<nn::WeightsFile>& files,
                    TPUEstimatorSpec& spec);

}  // namespace tpuest::models
