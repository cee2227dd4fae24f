#pragma once
// Reads YAML text as a tree. The YAML is 1.2's core as yaml-cpp reads it, with merge keys (`<<:`)
// and without tags, several documents or keys that are not plain words.

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Reads a whole file. A fault that ends the reading (syntax, encoding) throws Error kUsage;
// duplicate keys and the like are added to faults, with the first of duplicates kept. The text is
// remembered in sources under `file`. An empty text is an empty map.
[[nodiscard]] Node ParseYaml(std::string_view text, const std::string& file, const Origin& origin,
                             Sources& sources, Faults& faults);

// Reads the VALUE of a `KEY=VALUE` that starts at byte `start` of `text`: a YAML flow value. Its
// places are (place.file, place.line, column in text). Throws Error kUsage.
[[nodiscard]] Node ParseFlowValue(std::string_view text, size_t start, const Place& place,
                                  const Origin& origin);

}  // namespace tpuest::config
