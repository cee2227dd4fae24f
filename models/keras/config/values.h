#pragma once
// Values of Keras' configurations as those of a job. For this folder alone.

#include <optional>
#include <string>
#include <string_view>

#include "config/reflect.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// A layer, or a part of it, that cannot be in a job.
struct KerasRefusal {
  std::string message;
  std::string hint;
};
[[noreturn]] inline void RefuseKeras(std::string message, std::string hint = "") {
  throw KerasRefusal{std::move(message), std::move(hint)};
}

// A number in the fewest digits that give the same float32, where it is one: 0.0010000000474974513
// is 0.001. Lists and objects likewise, throughout.
[[nodiscard]] KerasJson ShortNumbers(const KerasJson& value);

// The value without what wraps it: {"class_name": "__tuple__", "items": [...]} is a list, a number
// of NumPy's a number.
[[nodiscard]] KerasJson Unwrapped(const KerasJson& value);

// [3, 3] as 3, where all are the same; other values stay.
[[nodiscard]] KerasJson OneOfEqual(const KerasJson& value);

// The value of a job's key: of a struct without keys its `type`, and null of every other struct.
[[nodiscard]] KerasJson JsonOf(const config::Value& value);

// {"class_name": "GlorotUniform", "config": {...}} as {type: glorot_uniform, ...}; null for one
// that a job does not have, which weights of a file make good.
[[nodiscard]] KerasJson InitializerOf(const KerasJson& value);

// A penalty; null: none. Throws KerasRefusal for others than l1 and l2.
[[nodiscard]] KerasJson RegularizerOf(const KerasJson& value);

// A limit on weights as {type: max_norm, max_value: 2, axis: 0}; null: none. Throws KerasRefusal
// for a class of the user's own.
[[nodiscard]] KerasJson ConstraintOf(const KerasJson& value);

// The name of a function: "relu", {"class_name": "function", "config": "relu"}. Throws KerasRefusal
// for what has no name.
[[nodiscard]] std::string FunctionNameOf(const KerasJson& value, std::string_view what);

// "float32", "mixed_bfloat16", ... of a dtype or policy; "" where there is none.
[[nodiscard]] std::string PolicyOf(const KerasJson& dtype);

// The member of an object, or null.
[[nodiscard]] const KerasJson& MemberOf(const KerasJson& object, std::string_view key);
// A string member; "" where it is not there or none.
[[nodiscard]] std::string WordOf(const KerasJson& object, std::string_view key);

}  // namespace tpuest
