#pragma once
// Reads YAML text as a tree. The language is YAML 1.2's core schema as yaml-cpp reads it, with
// merge keys (`<<:`), without tags, multiple documents or keys that are not plain words.

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Reads a whole file. A syntax or encoding error throws Error kUsage; duplicate keys and similar
// mistakes are added to faults, and the first of duplicates is kept. The text is stored in sources
// under `file`. An empty text is an empty map.
[[nodiscard]] Node ParseYaml(std::string_view text, const std::string& file, const Origin& origin,
                             Sources& sources, Faults& faults);

// Reads the VALUE of a `KEY=VALUE` that starts at byte `start` of `text`: a YAML flow value. Its
// places are (place.file, place.line, column in text). Throws Error kUsage.
[[nodiscard]] Node ParseFlowValue(std::string_view text, size_t start, const Place& place,
                                  const Origin& origin);

}  // namespace tpuest::config
