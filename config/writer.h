#pragma once
// Writes structs back as YAML that reads back as the same struct. Input paths are written absolute,
// so that the file may lie anywhere.

#include <string>

#include "config/reflect.h"
#include "config/tree.h"

namespace tpuest::config {

struct WriteOptions {
  bool defaults = true;   // values that neither the job nor an override gave, too
  bool unchanged = true;  // values that were given and are the default's, too
  bool origins = true;    // "# default", "# job.yaml:14", "# command line" after each value
};

// The section's keys as YAML; `tree` says where each value came from.
[[nodiscard]] std::string WriteValue(const Value& section, const Tree& tree,
                                     const WriteOptions& options);

// Writes every value with its origin: job.resolved.yaml, `config show --full`.
template <class T>
[[nodiscard]] std::string WriteResolved(const T& section, const Tree& tree) {
  return WriteValue(ValueOf(const_cast<T&>(section)), tree, {});
}

// Writes what the job and the command line say: `config show`.
template <class T>
[[nodiscard]] std::string WriteShown(const T& section, const Tree& tree) {
  return WriteValue(ValueOf(const_cast<T&>(section)), tree, {.defaults = false, .origins = false});
}

// Writes what differs from the defaults of that: `config show --minimal`.
template <class T>
[[nodiscard]] std::string WriteMinimal(const T& section, const Tree& tree) {
  return WriteValue(ValueOf(const_cast<T&>(section)), tree,
                    {.defaults = false, .unchanged = false, .origins = false});
}

// One value in YAML flow style.
[[nodiscard]] std::string FlowText(const Value& value);

}  // namespace tpuest::config
