#pragma once
// Finds the weights of a graph's variables in a Keras file.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// The variables that need weights: those of a model or of a nested model.
struct KerasTarget {
  const Graph& graph;
  size_t first_variable = 0;  // indices into Graph::variables(): first <= index < end
  size_t end_variable = 0;
  std::string object_prefix;  // prefix of their object paths
  // The names of nested models, by the prefix of their variables' object paths.
  const std::map<std::string, std::string>& models;
};

// Functions that read a variable's value, in its dtype, by the variable's name.
using KerasWeightReaders = std::map<std::string, std::function<Tensor()>>;

// Returns a weight of the file for each of the variables. Weights by layer are matched by layer
// name if the model has all of them; otherwise the k-th layer with weights in the file goes to the
// k-th in the model; inside a nested model they are matched by name. Weights by object are matched
// by class and position in the model. Throws Error kCheckpoint if counts or shapes differ, kData
// for a file without weights, and errors of the file.
[[nodiscard]] KerasWeightReaders MatchKerasWeights(const std::string& path,
                                                   const KerasTarget& target);

}  // namespace tpuest
