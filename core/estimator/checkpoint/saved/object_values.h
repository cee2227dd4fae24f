#pragma once
// Reads the values of a graph's variables, slots included, from an object-based checkpoint.

#include <map>
#include <string>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/graph/graph.h"

namespace tpuest {

// The values of the graph's variables that the checkpoint has, under the graph's names. Slots of
// tf.train's optimizers are taken as they are; of Keras' too, but for SGD's momentum, which there
// is minus the rate times tf.train's, and Adam's beta1_power and beta2_power, which follow from its
// count of steps. Error kCheckpoint where several models or optimizers fit, or where a value does
// not follow.
[[nodiscard]] std::map<std::string, Tensor> ValuesFromObjects(const SavedState& saved,
                                                              const Graph& graph);

// The slots that the checkpoint's optimizers keep, for a message: "m, v"; "none".
[[nodiscard]] std::string SlotsOfObjects(const ObjectGraph& objects);

}  // namespace tpuest
