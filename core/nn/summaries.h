#pragma once
// Values of a model that TensorBoard shows, by tag.

#include <map>
#include <string>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Collected while the model is built; the training loop writes them as events.
struct Summaries {
  std::map<std::string, Value> scalars;  // []
  // Outputs of layers, [batch, ...], by the layer's name: a scalar
  // "<name>/fraction_of_zero_values" and a histogram "<name>/activation".
  std::map<std::string, Value> activations;
  // Values that are the same on all replicas: variables, gradients.
  std::map<std::string, Value> histograms;
};

}  // namespace tpuest::nn
