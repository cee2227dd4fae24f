#pragma once
// Reads the values of a graph's variables, including slots, from an object-based checkpoint.

#include <map>
#include <string>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/graph/graph.h"

namespace tpuest {

// Returns the values of the graph's variables that the checkpoint has, under the graph's names.
// Slots of tf.train's optimizers are used as they are. So are Keras' slots, except SGD's momentum,
// which is minus the rate times tf.train's, and Adam's beta1_power and beta2_power, which are
// computed from its step count. Throws Error kCheckpoint if several models or optimizers fit, or if
// a value cannot be computed.
[[nodiscard]] std::map<std::string, Tensor> ValuesFromObjects(const SavedState& saved,
                                                              const Graph& graph);

// Lists the slots of the checkpoint's optimizers for a message: "m, v"; "none".
[[nodiscard]] std::string SlotsOfObjects(const ObjectGraph& objects);

}  // namespace tpuest
