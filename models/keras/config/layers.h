#pragma once
// Layers of Keras' configurations as those of a job, class by class. For this folder alone.

#include <string>
#include <string_view>
#include <vector>

#include "models/keras/config/values.h"

namespace tpuest {

// What a layer becomes: usually one item of a job's `layers`; several in a row where an activation
// is none of the job's. `name` is the first one's; inputs are put in later.
using KerasLayerSections = std::vector<KerasJson>;

// A layer of this class with this configuration. `is_keras3`: hard_sigmoid means another function
// there. Throws KerasRefusal for what a job does not have.
[[nodiscard]] KerasLayerSections KerasLayerOf(const std::string& class_name,
                                              const KerasJson& config, bool is_keras3);

// True for an activation that a job's layer takes by that name.
[[nodiscard]] bool IsJobActivation(const std::string& activation);

// The layers that an activation is which no layer has as its own. Throws KerasRefusal for one that
// is not known.
[[nodiscard]] KerasLayerSections ActivationSections(const std::string& activation,
                                                    const std::string& name, bool is_keras3);

inline constexpr std::string_view kKerasWayOut =
    "rebuild the model without it, or export a SavedModel: model: {type: saved_model, path: ...}";

// An operation that stands among layers: TFOpLambda and SlicingOpLambda of Keras 2 by `function`,
// Keras 3's by class. `constant`: the argument that is no tensor, and `first`: whether it stands
// before the tensor; null: all arguments are tensors.
struct KerasOperation {
  std::string function;  // "math.add", "Add"
  KerasJson constant;
  bool constant_first = false;
  int tensors = 1;
  const KerasJson& arguments;  // by name
};
[[nodiscard]] KerasJson KerasOperationOf(const KerasOperation& operation);

// True for what is a model in itself.
[[nodiscard]] bool IsKerasModel(std::string_view class_name);

}  // namespace tpuest
