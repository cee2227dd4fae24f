#pragma once
// The names of optimizers' slots: tf.train's in a name-based checkpoint ("dense/kernel/Adam"), and
// the same values' in an object-based one ("m").

#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

struct SlotNames {
  std::string_view suffix;                // "Adam_1": the variable is "<variable>/Adam_1"
  std::vector<std::string_view> objects;  // in slot_variables; tf.train's word first
  // The list that holds it in a Keras optimizer since 2.11, or "".
  std::string_view list;
  // All slots that such an optimizer has: one with others is of another kind.
  std::vector<std::string_view> family;
};

// The names of the slot with this suffix; nullptr where no optimizer has such a slot. `centered`:
// the optimizer is a centered RMSProp, which has another order.
[[nodiscard]] const SlotNames* FindSlotNames(std::string_view suffix, bool centered);

// The variable that "dense/kernel/Adam" would be a slot of: "dense/kernel". TensorFlow's premade
// estimators of version 1 have parts of variables: "dense/kernel/part_0/Adam" has the same owner.
[[nodiscard]] std::string OwnerOfSlot(std::string_view name);

// True for the names that Keras' optimizers have for their slots and numbers: "training/Adam/...",
// with two heads "training_2/Adam/...".
[[nodiscard]] bool IsOfKeras(std::string_view name);

}  // namespace tpuest
