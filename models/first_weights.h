#pragma once
// Models that start with the weights of files.

#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/nn/layers/layer.h"

namespace tpuest::models {

// Adds to the spec's scaffold what gives the variables the weights of files, later files over
// earlier ones. They are read when a run starts without a checkpoint: only then is it an Error that
// a file is not there. What does not fit is found at once, at the file's place in the job: Error
// kCheckpoint, kData.
void StartFromFiles(const nn::LayerContext& context, const std::vector<nn::WeightsFile>& files,
                    TPUEstimatorSpec& spec);

}  // namespace tpuest::models
