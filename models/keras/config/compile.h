#pragma once
// What Model.compile was told, as head and optimizer of a job. For this folder alone.

#include <map>
#include <string>
#include <vector>

#include "models/keras/config/job.h"

namespace tpuest {

// The outputs of a model as its file has them.
struct KerasOutputs {
  std::vector<std::string> layers;  // Keras' names of the layers that give job.outputs
  bool is_keras3 = false;
};

// Adds head, optimizer, their faults and notes to a job whose outputs are known. Error kUsage, in
// TensorFlow's words, for a metric_names_map that does not have the model's metrics.
void AddCompiled(const KerasFile& file, const KerasOutputs& outputs,
                 const std::map<std::string, std::string>& metric_names_map, KerasJob& job);

}  // namespace tpuest
