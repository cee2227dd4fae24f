#pragma once
// What model.save(FOLDER) of Keras 2 leaves beside a SavedModel: keras_metadata.pb, which has the
// model's configuration, and the weights by object in variables/.

#include <string>
#include <vector>

#include "models/keras/keras_file.h"

namespace tpuest {

// Whether the folder has keras_metadata.pb, as model.export(FOLDER) and TensorFlow alone do not.
[[nodiscard]] bool IsKerasSavedModel(const std::string& folder);

struct KerasSavedModel {
  KerasJson model;    // {"class_name", "config", ..., "training_config", "keras_version"}
  std::string place;  // of that, for messages: "saved/keras_metadata.pb"
  std::vector<KerasLayerWeights> layers;  // those with weights, in the model's order
};

// Error kData for metadata that are damaged or of no model with layers, kCheckpoint for variables.
[[nodiscard]] KerasSavedModel ReadKerasSavedModel(const std::string& folder);

}  // namespace tpuest
