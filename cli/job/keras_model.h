#pragma once
// `model: {type: model_to_estimator, keras_model_path: FILE}`: a model that Keras saved, written
// out as the layers, head and optimizer of a job before the job is read.

#include <string_view>

#include "config/blocks.h"

namespace tpuest::cli {

// tf.keras.estimator.model_to_estimator.
inline constexpr std::string_view kModelToEstimator = "model_to_estimator";

// Its arguments, as parameters of a model file.
[[nodiscard]] config::ModelFile KerasModelKeys();

// Replaces the job's model, and those of its layers, that are of this type: the section becomes one
// of type Functional with the file's layers, which starts with the file's weights; head, optimizer
// and checkpoint_format are the file's where the job says none. Faults of the section are added;
// Error kData for what is wrong with the file.
void ImportKerasModels(config::Tree& job, config::Sources& sources, Faults& faults);

}  // namespace tpuest::cli
