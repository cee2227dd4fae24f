#pragma once
// Makes a list of key paths and values of a struct, and says what tells two such lists apart.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reflect.h"

namespace tpuest::config {

// One key of a job with the value that it has, default or not.
struct FlatValue {
  std::string path;  // "optimizer.learning_rate", "layers[2].units", "model.type"
  std::string text;  // YAML flow text
  std::string_view help;
  bool changes_bits = true;  // false where the key's field, or one that it is below, says so
};

// All values that are no sections, in the order of Visit. An empty list or map is a value; a
// variant's struct adds its `type`.
[[nodiscard]] std::vector<FlatValue> FlatValuesOf(const Value& section);

template <class T>
[[nodiscard]] std::vector<FlatValue> Flatten(const T& section) {
  return FlatValuesOf(ValueOf(const_cast<T&>(section)));
}

// The value at a path; null: there is none.
[[nodiscard]] const FlatValue* FindValue(const std::vector<FlatValue>& values,
                                         std::string_view path);
// The text at a path; nullopt where there is no such value.
[[nodiscard]] std::optional<std::string> FindText(const std::vector<FlatValue>& values,
                                                  std::string_view path);

// A key whose values differ.
struct Difference {
  std::string path;
  std::optional<std::string> a;  // nullopt: there is no such key on that side
  std::optional<std::string> b;
};

// The paths whose texts differ: in a's order, then those that only b has.
[[nodiscard]] std::vector<Difference> DifferencesOf(const std::vector<FlatValue>& a,
                                                    const std::vector<FlatValue>& b);

}  // namespace tpuest::config
