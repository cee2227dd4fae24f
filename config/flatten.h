#pragma once
// Lists the key paths and values of a struct, and compares two such lists.

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
  bool changes_bits = true;  // false if the key's field or a field above it says so
};

// Returns all values that are not sections, in the order of Visit. An empty list or map is a value;
// a variant's struct adds its `type`.
[[nodiscard]] std::vector<FlatValue> FlatValuesOf(const Value& section);

template <class T>
[[nodiscard]] std::vector<FlatValue> Flatten(const T& section) {
  return FlatValuesOf(ValueOf(const_cast<T&>(section)));
}

// Returns the value at a path; null if none is there.
[[nodiscard]] const FlatValue* FindValue(const std::vector<FlatValue>& values,
                                         std::string_view path);
// Returns the text at a path; nullopt if no value is there.
[[nodiscard]] std::optional<std::string> FindText(const std::vector<FlatValue>& values,
                                                  std::string_view path);

// A key whose values differ.
struct Difference {
  std::string path;
  std::optional<std::string> a;  // nullopt if that side lacks the key
  std::optional<std::string> b;
};

// Returns the paths whose texts differ, in a's order, then the paths that only b has.
[[nodiscard]] std::vector<Difference> DifferencesOf(const std::vector<FlatValue>& a,
                                                    const std::vector<FlatValue>& b);

}  // namespace tpuest::config
