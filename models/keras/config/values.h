#pragma once
// Converts values of Keras' configurations to those of a job. Private to this folder.

#include <optional>
#include <string>
#include <string_view>

#include "config/reflect.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// Thrown for a layer, or a part of it, that a job cannot express.
struct KerasRefusal {
  std::string message;
  std::string hint;
};
[[noreturn]] inline void RefuseKeras(std::string message, std::string hint = "") {
  throw KerasRefusal{std::move(message), std::move(hint)};
}

// Shortens numbers to the fewest digits that give the same float32: 0.0010000000474974513 becomes
// 0.001. Applies to lists and objects recursively.
[[nodiscard]] KerasJson ShortNumbers(const KerasJson& value);

// Removes wrappers: {"class_name": "__tuple__", "items": [...]} becomes a list, a NumPy number
// becomes a number.
[[nodiscard]] KerasJson Unwrapped(const KerasJson& value);

// Returns 3 for [3, 3] if all items are equal; returns other values unchanged.
[[nodiscard]] KerasJson OneOfEqual(const KerasJson& value);

// Returns the value of a job's key: for a struct without keys its `type`, for any other struct
// null.
[[nodiscard]] KerasJson JsonOf(const config::Value& value);

// Returns {type: glorot_uniform, ...} for {"class_name": "GlorotUniform", "config": {...}}; null
// for an initializer without an equivalent, which is harmless if weights come from a file.
[[nodiscard]] KerasJson InitializerOf(const KerasJson& value);

// Returns a penalty, or null for none. Throws KerasRefusal for penalties other than l1 and l2.
[[nodiscard]] KerasJson RegularizerOf(const KerasJson& value);

// Returns a limit on weights as {type: max_norm, max_value: 2, axis: 0}, or null for none. Throws
// KerasRefusal for a user-defined class.
[[nodiscard]] KerasJson ConstraintOf(const KerasJson& value);

// Returns the name of a function: "relu", {"class_name": "function", "config": "relu"}. Throws
// KerasRefusal for a function without a name.
[[nodiscard]] std::string FunctionNameOf(const KerasJson& value, std::string_view what);

// Returns "float32", "mixed_bfloat16", ... for a dtype or policy, or "".
[[nodiscard]] std::string PolicyOf(const KerasJson& dtype);

// Returns the member of an object, or null.
[[nodiscard]] const KerasJson& MemberOf(const KerasJson& object, std::string_view key);
// Returns a string member, or "" if it is missing or not a string.
[[nodiscard]] std::string WordOf(const KerasJson& object, std::string_view key);

}  // namespace tpuest
