#pragma once
// `model: {type: model_to_estimator, keras_model_path: FILE}`: a model that Keras saved, expanded
// into the layers, head and optimizer of a job before the job is read.

#include <string_view>

#include "config/diagnostics.h"
#include "config/tree.h"
#include "core/base/faults.h"
#include "models/blocks/model_file.h"

namespace tpuest::cli {

// tf.keras.estimator.model_to_estimator.
inline constexpr std::string_view kModelToEstimator = "model_to_estimator";

// Its arguments, as parameters of a model file.
[[nodiscard]] models::ModelFile KerasModelKeys();

// Replaces the job's model, and its layers, of this type: the section becomes one of type
// Functional with the file's layers, and starts with the file's weights. Head, optimizer and
// checkpoint_format come from the file unless the job sets them. Adds the faults of the section;
// Error kData for an invalid file.
void ImportKerasModels(config::Tree& job, config::Sources& sources, Faults& faults);

}  // namespace tpuest::cli
