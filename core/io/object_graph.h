#pragma once
// Object-based checkpoints (tf.train.Checkpoint, Keras) store a variable under its path through the
// objects ("layer/kernel/.ATTRIBUTES/VARIABLE_VALUE") and keep its name in a graph of the objects.

#include <map>
#include <string>

#include "core/io/bundle.h"

namespace tpuest {

// From a variable's name ("dense/kernel") to the tensor that holds it; empty for a name-based
// checkpoint.
[[nodiscard]] std::map<std::string, std::string> KeysByVariableName(const BundleReader& bundle);

}  // namespace tpuest
