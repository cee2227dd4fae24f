#pragma once
// Reads what model.save(FOLDER) of Keras 2 adds to a SavedModel: keras_metadata.pb with the model's
// configuration, and the weights by object in variables/.

#include <string>
#include <vector>

#include "models/keras/keras_file.h"

namespace tpuest {

// Whether the folder has keras_metadata.pb, which model.export(FOLDER) and plain TensorFlow do not
// write.
[[nodiscard]] bool IsKerasSavedModel(const std::string& folder);

struct KerasSavedModel {
  KerasJson model;    // {"class_name", "config", ..., "training_config", "keras_version"}
  std::string place;  // place of `model`, for messages: "saved/keras_metadata.pb"
  std::vector<KerasLayerWeights> layers;  // layers with weights, in the model's order
};

// Throws Error kData for metadata that are damaged or describe no model with layers, kCheckpoint
// for variables.
[[nodiscard]] KerasSavedModel ReadKerasSavedModel(const std::string& folder);

}  // namespace tpuest
