#pragma once
// The places of a run's variables in an object-based checkpoint, such that
// tf.train.Checkpoint(model=a tf.keras.Sequential of the same layers, optimizer=..., step=...)
// takes them up:
//
//   model/layer_with_weights-0/kernel     a variable, by Variable::object_path or else its name
//   ... its slots in `optimizer`          under tf.train's words ("momentum", "m")
//   optimizer/beta1_power                 as tf.train's Adam has it
//   optimizer/iter, learning_rate, ...    as tf.keras.optimizers.legacy has them, if its slots
//                                         mean the same; iter counts the steps
//   step, global_step                     one variable
//   save_counter                          the step: the checkpoint's number in its file name
//
// Where one of Keras' optimizers trains ("training/Adam/..."), they are those of
// model_to_estimator, whose root is the model itself:
//
//   layer_with_weights-0/kernel           a variable, its slots in `optimizer` under Keras' words
//   optimizer/learning_rate, beta_1, ...  the optimizer's numbers
//   estimator_global_step                 the step
//
// The root has the layers as `model`, too, and the step as `step`, so that what is said above holds
// of those as well; so does `optimizer/iter`, another object of the step's value.
//
// The model is `net`, too, and a layer has its own name beside its place, so that
// Checkpoint(step=..., optimizer=..., net=Net()) finds the layer `l1` where Net keeps it as l1.

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

  // Every tensor of a checkpoint with the values in `store`, the graph of objects included.
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

  // The names that lead to a variable of the model.
  [[nodiscard]] std::vector<std::string> PlaceOf(const Variable& variable) const;

  int Make();
  // The object at these names from the root, made with all that lead to it.
  int At(const std::vector<std::string>& names);
  void Refer(int from, const std::string& name, int to);
  // Makes the object the variable of this name, stored under this key.
  const std::string& Keep(int node, const std::string& full_name, std::string key);

  [[nodiscard]] int64_t Count(VariableStore& store) const;

  const Graph& graph_;
  std::string keras_scope_;  // of Keras' optimizer: "training/Adam/"; "": none, or several
  ObjectGraph objects_;
  std::map<std::string, int> nodes_;         // the objects of the graph's variables, by name
  std::map<std::string, Tensor> constants_;  // values that never change, by key
  std::string count_key_;                    // the key of Keras' count of steps; "" without one
  std::string save_counter_key_;
  Tensor objects_tensor_;
};

}  // namespace tpuest
