// Activations of Keras' layers that no layer of a job has as its own.

#include "core/nn/activations.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/keras/config/layers.h"

namespace tpuest {
// Keras 3 has another function of the name hard_sigmoid.
bool IsJobActivation(const std::string& activation) {
  const auto& names = nn::ActivationNames();
  return activation != "hard_sigmoid" &&
         std::find(names.begin(), names.end(), activation) != names.end();
}

KerasLayerSections ActivationSections(const std::string& activation, const std::string& name,
                                      bool is_keras3) {
  const auto scaled = [&](const std::string& to, double scale, double offset) {
    KerasJson section = {{"type", "Rescaling"}, {"scale", ShortNumbers(scale)}};
    if (offset != 0) section["offset"] = ShortNumbers(offset);
    section["name"] = name + "/" + to;
    return section;
  };
  if (activation == "hard_sigmoid" && !is_keras3) {
    return {{{"type", "Activation"}, {"activation", "hard_sigmoid"}, {"name", name}}};
  }
  if (activation == "hard_sigmoid" || activation == "hard_silu" || activation == "hard_swish") {
    KerasLayerSections sections = {scaled("add", 1, 3),
                                   {{"type", "ReLU"}, {"max_value", 6}, {"name", name + "/relu6"}},
                                   scaled("gate", static_cast<double>(1.0F / 6.0F), 0)};
    if (activation != "hard_sigmoid") {
      sections.push_back({{"type", "Multiply"}, {"name", name}, {"inputs", {"", "@before"}}});
    }
    sections.back()["name"] = name;
    return sections;
  }
  if (IsJobActivation(activation)) {
    return {{{"type", "Activation"}, {"activation", activation}, {"name", name}}};
  }
  RefuseKeras(fmt::format("unknown activation '{}'", activation), std::string(kKerasWayOut));
}

}  // namespace tpuest
