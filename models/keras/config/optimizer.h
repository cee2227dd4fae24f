#pragma once
// The optimizer in Model.compile's arguments. Private to this folder.

#include <string>
#include <vector>

#include "models/keras/config/values.h"

namespace tpuest {

// Returns a class name without the package prefix of Keras itself: "Adam" for {"class_name":
// "Custom>Adam"} and for "Adam". Other packages keep their prefix.
[[nodiscard]] std::string KerasClassOf(const KerasJson& object);

// Converts an optimizer to a job's section. Adds notes on settings that it drops because they
// change no step. Throws KerasRefusal for an optimizer or an argument without an equivalent.
[[nodiscard]] KerasJson KerasOptimizerOf(const KerasJson& given, std::vector<std::string>& notes);

}  // namespace tpuest
