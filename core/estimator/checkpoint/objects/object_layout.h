#pragma once
// Places a run's variables in an object-based checkpoint so that
// tf.train.Checkpoint(model=a tf.keras.Sequential of the same layers, optimizer=..., step=...)
// restores them:
//
//   model/layer_with_weights-0/kernel     a variable, by Variable::object_path or else its name
//   ... its slots in `optimizer`          under tf.train's names ("momentum", "m")
//   optimizer/beta1_power                 as in tf.train's Adam
//   optimizer/iter, learning_rate, ...    as in tf.keras.optimizers.legacy, if its slots mean the
//                                         same; iter counts the steps
//   step, global_step                     one variable
//   save_counter                          the step: the checkpoint's number in its file name
//
// If one of Keras' optimizers trains ("training/Adam/..."), the layout is that of
// model_to_estimator, whose root is the model itself:
//
//   layer_with_weights-0/kernel           a variable, with its slots in `optimizer` under Keras'
//                                         names
//   optimizer/learning_rate, beta_1, ...  the optimizer's hyperparameters
//   estimator_global_step                 the step
//
// The root also contains the layers as `model` and the step as `step`, so the first layout can be
// restored as well; `optimizer/iter` is then another object with the step's value.
//
// The model is also `net`, and a layer also has its own name, so that
// Checkpoint(step=..., optimizer=..., net=Net()) finds the layer `l1` if Net keeps it as l1.

#include <map>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/io/object_graph.h"

namespace tpuest {

class ObjectLayout {
 public:
  // Keeps a reference to the graph.
  explicit ObjectLayout(const Graph& graph);

  // Returns every tensor of a checkpoint with the values in `store`, including the object graph.
  [[nodiscard]] std::vector<NamedTensor> Tensors(VariableStore& store) const;

 private:
  void AddModel();
  void AddKerasVariable(const Variable& variable);
  void AddOptimizer();
  void AddSlot(const Variable& variable);
  void AddKeras();
  void AddStep();
  void AddEstimatorStep();
  void AddNames();

  // Returns the names that lead from the root to a variable of the model.
  [[nodiscard]] std::vector<std::string> PlaceOf(const Variable& variable) const;

  int Make();
  // Returns the object at these names from the root, creating all objects on the path.
  int At(const std::vector<std::string>& names);
  void Refer(int from, const std::string& name, int to);
  // Makes the object the variable of this name, stored under this key.
  const std::string& Keep(int node, const std::string& full_name, std::string key);

  [[nodiscard]] int64_t Count(VariableStore& store) const;

  const Graph& graph_;
  std::string keras_scope_;  // for Keras' optimizer: "training/Adam/"; "": none, or several
  ObjectGraph objects_;
  std::map<std::string, int> nodes_;         // the objects of the graph's variables, by name
  std::map<std::string, Tensor> constants_;  // constant values, by key
  std::string count_key_;                    // the key of Keras' step count; "" without one
  std::string save_counter_key_;
  Tensor objects_tensor_;
};

}  // namespace tpuest
