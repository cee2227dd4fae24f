#pragma once
// The names of optimizers' slots: those of tf.train in a name-based checkpoint
// ("dense/kernel/Adam"), and those of the same values in an object-based one ("m").

#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

struct SlotNames {
  std::string_view suffix;                // "Adam_1": the variable is "<variable>/Adam_1"
  std::vector<std::string_view> objects;  // names in slot_variables; tf.train's name first
  // The list that contains the slot in a Keras optimizer since 2.11, or "".
  std::string_view list;
  // All slots that such an optimizer has; an optimizer with other slots is of another kind.
  std::vector<std::string_view> family;
};

// Returns the names of the slot with this suffix; nullptr if no optimizer has such a slot.
// `centered`: the optimizer is a centered RMSProp, whose slots are in another order.
[[nodiscard]] const SlotNames* FindSlotNames(std::string_view suffix, bool centered);

// Returns the variable that "dense/kernel/Adam" would be a slot of: "dense/kernel". TensorFlow's
// premade estimators of version 1 partition variables: "dense/kernel/part_0/Adam" has the same
// owner.
[[nodiscard]] std::string OwnerOfSlot(std::string_view name);

// True for the names of slots and hyperparameters of Keras' optimizers: "training/Adam/...", or
// "training_2/Adam/..." with two heads.
[[nodiscard]] bool IsOfKeras(std::string_view name);

}  // namespace tpuest
