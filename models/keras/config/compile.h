#pragma once
// The arguments of Model.compile as head and optimizer of a job. Private to this folder.

#include <map>
#include <string>
#include <vector>

#include "models/keras/config/job.h"

namespace tpuest {

// The outputs of a model in its file.
struct KerasOutputs {
  std::vector<std::string> layers;  // Keras' names of the layers of job.outputs
  bool is_keras3 = false;
};

// Adds head, optimizer, and their faults and notes to a job whose outputs are known. Throws Error
// kUsage, in TensorFlow's words, for a metric_names_map that lacks the model's metrics.
void AddCompiled(const KerasFile& file, const KerasOutputs& outputs,
                 const std::map<std::string, std::string>& metric_names_map, KerasJob& job);

}  // namespace tpuest
