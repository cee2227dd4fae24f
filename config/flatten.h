#pragma once
// A struct as a list of key paths and values, and what tells two such structs apart.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reflect.h"

namespace tpuest::config {

struct FlatValue {
  std::string path;  // "optimizer.learning_rate", "layers[2].units", "model.type"
  std::string text;  // YAML flow text
  std::string_view help;
};

// Every value that is no section, in the order of Visit. An empty list or map is a value.
[[nodiscard]] std::vector<FlatValue> FlatValuesOf(const Value& section);

template <class T>
[[nodiscard]] std::vector<FlatValue> Flatten(const T& section) {
  return FlatValuesOf(ValueOf(const_cast<T&>(section)));
}

// The text at a path; nullopt: there is no such value.
[[nodiscard]] std::optional<std::string> FindText(const std::vector<FlatValue>& values,
                                                  std::string_view path);

struct Difference {
  std::string path;
  std::optional<std::string> a;  // nullopt: there is no such key on that side
  std::optional<std::string> b;
};

// The paths whose texts differ: in a's order, then those that only b has.
[[nodiscard]] std::vector<Difference> DifferencesOf(const std::vector<FlatValue>& a,
                                                    const std::vector<FlatValue>& b);

}  // namespace tpuest::config
