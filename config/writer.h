#pragma once
// Writes structs as YAML that reads back as the same struct. Input paths are written as absolute
// paths, so that the file may be moved.

#include <string>

#include "config/reflect.h"
#include "config/tree.h"

namespace tpuest::config {

struct WriteOptions {
  bool defaults = true;   // also values that neither the job nor an override sets
  bool unchanged = true;  // also values that were set to the default
  bool origins = true;    // "# default", "# job.yaml:14", "# command line" after each value
};

// Returns the section's keys as YAML; `tree` has the origins of the values.
[[nodiscard]] std::string WriteValue(const Value& section, const Tree& tree,
                                     const WriteOptions& options);

// Writes every value with its origin: job.resolved.yaml, `config show --full`.
template <class T>
[[nodiscard]] std::string WriteResolved(const T& section, const Tree& tree) {
  return WriteValue(ValueOf(const_cast<T&>(section)), tree, {});
}

// Writes the values that the job and the command line set: `config show`.
template <class T>
[[nodiscard]] std::string WriteShown(const T& section, const Tree& tree) {
  return WriteValue(ValueOf(const_cast<T&>(section)), tree, {.defaults = false, .origins = false});
}

// Writes the values of those that differ from the defaults: `config show --minimal`.
template <class T>
[[nodiscard]] std::string WriteMinimal(const T& section, const Tree& tree) {
  return WriteValue(ValueOf(const_cast<T&>(section)), tree,
                    {.defaults = false, .unchanged = false, .origins = false});
}

// One value in YAML flow style.
[[nodiscard]] std::string FlowText(const Value& value);

}  // namespace tpuest::config
