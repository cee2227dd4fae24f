#pragma once
// Converts layers of Keras' configurations to those of a job, by class. Private to this folder.

#include <string>
#include <string_view>
#include <vector>

#include "models/keras/config/values.h"

namespace tpuest {

// The result for a layer: usually one item of a job's `layers`, or several in sequence if a job's
// layer does not have its activation. `name` is that of the first item; inputs are filled in later.
using KerasLayerSections = std::vector<KerasJson>;

// Returns the layer of this class with this configuration. `is_keras3`: hard_sigmoid is a different
// function there. Throws KerasRefusal if a job has no equivalent.
[[nodiscard]] KerasLayerSections KerasLayerOf(const std::string& class_name,
                                              const KerasJson& config, bool is_keras3);

// True for an activation that a job's layers accept under that name.
[[nodiscard]] bool IsJobActivation(const std::string& activation);

// Returns the layers that compute an activation which layers do not accept as an argument. Throws
// KerasRefusal for an unknown activation.
[[nodiscard]] KerasLayerSections ActivationSections(const std::string& activation,
                                                    const std::string& name, bool is_keras3);

inline constexpr std::string_view kKerasWayOut =
    "rebuild the model without it, or export a SavedModel: model: {type: saved_model, path: ...}";

// An operation in the list of layers: Keras 2's TFOpLambda and SlicingOpLambda by `function`, Keras
// 3's by class. `constant`: the argument that is not a tensor, or null if all are; `first`: whether
// it comes before the tensor.
struct KerasOperation {
  std::string function;  // "math.add", "Add"
  KerasJson constant;
  bool constant_first = false;
  int tensors = 1;
  const KerasJson& arguments;  // keyword arguments
};
[[nodiscard]] KerasJson KerasOperationOf(const KerasOperation& operation);

// True for a class that is a model itself.
[[nodiscard]] bool IsKerasModel(std::string_view class_name);

}  // namespace tpuest
