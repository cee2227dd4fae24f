#pragma once
// What Model.compile was told, as head and optimizer of a job. For this folder alone.

#include <map>
#include <string>

#include "models/keras/config/job.h"

namespace tpuest {

// Adds head, optimizer and notes to a job whose outputs are known. Error kUsage, in TensorFlow's
// words, for a metric_names_map that does not have the model's metrics.
void AddCompiled(const KerasFile& file, const std::map<std::string, std::string>& metric_names_map,
                 KerasJob& job);

}  // namespace tpuest
