#pragma once
// The key `parse_example` of an input_fn as it stands in a job.

#include <string>

#include "data/options.h"

namespace tpuest::data {

// A key or a name as YAML has it: plain where it can be, else in double quotes.
[[nodiscard]] std::string YamlKey(const std::string& name);

// A feature's line below parse_example: "  image_raw: {type: FixedLenFeature, shape: [], dtype:
// string}\n".
[[nodiscard]] std::string FeatureLine(const std::string& name, const FeatureOptions& feature);

}  // namespace tpuest::data
