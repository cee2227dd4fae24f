#pragma once
// The optimizer that Model.compile was told. For this folder alone.

#include <string>
#include <vector>

#include "models/keras/config/values.h"

namespace tpuest {

// The name of a class without Keras' own packages: "Adam" of {"class_name": "Custom>Adam"} and of
// "Adam". Another package's class keeps it.
[[nodiscard]] std::string KerasClassOf(const KerasJson& object);

// An optimizer as a job's section. Adds to `notes` what is left out that changes no step. Throws
// KerasRefusal for one that the job does not have, and for arguments that it does not know.
[[nodiscard]] KerasJson KerasOptimizerOf(const KerasJson& given, std::vector<std::string>& notes);

}  // namespace tpuest
