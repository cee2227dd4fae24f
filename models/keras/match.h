#pragma once
// Finds the weights of a graph's variables in a file of Keras'.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// The variables that are looked for: those of a model, or of a model that is a layer in it.
struct KerasTarget {
  const Graph& graph;
  size_t first_variable = 0;  // numbers of Graph::variables(): first <= number < end
  size_t end_variable = 0;
  std::string object_prefix;  // of their object paths
  // The names of the models that are layers, by the prefix of their variables' object paths.
  const std::map<std::string, std::string>& models;
};

// What reads a variable's value, in its dtype, by the variable's name.
using KerasWeightReaders = std::map<std::string, std::function<Tensor()>>;

// A weight of the file for each of the variables. Weights by layer go by the layers' names where
// the model has them all, else the k-th layer with weights in the file to the k-th in the model;
// inside a nested model by name. Weights by object go by class and place in the model. Error
// kCheckpoint where counts or shapes differ, kData for a file without weights, and what is wrong
// with the file.
[[nodiscard]] KerasWeightReaders MatchKerasWeights(const std::string& path,
                                                   const KerasTarget& target);

}  // namespace tpuest
