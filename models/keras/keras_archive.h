#pragma once
// Writes .keras archives: metadata.json, config.json and model.weights.h5 in a zip without
// compression, which load_model of Keras 2.15 and Keras 3 reads.

#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// The variables of an object: first those that are trainable. Objects without variables are written
// as well.
struct KerasVariables {
  std::string path;  // "layers/conv2d_3": KerasObject::path
  std::vector<Tensor> values;
};

struct KerasArchive {
  KerasJson config;  // the contents of config.json
  std::vector<KerasVariables> objects;
  std::string keras_version = "2.15.0";
  // Local time without time zone, as Keras writes it: "2024-01-31@12:00:00".
  std::string date_saved = "1980-01-01@00:00:00";
};

// Returns the archive's bytes; equal archives give equal bytes.
[[nodiscard]] std::string KerasArchiveBytes(const KerasArchive& archive);

}  // namespace tpuest
