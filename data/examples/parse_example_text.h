#pragma once
// The text of an input_fn's key `parse_example` in a job.

#include <string>

#include "data/options.h"

namespace tpuest::data {

// A key or name in YAML: plain if possible, otherwise in double quotes.
[[nodiscard]] std::string YamlKey(const std::string& name);

// A feature's line below parse_example: "  image_raw: {type: FixedLenFeature, shape: [], dtype:
// string}\n".
[[nodiscard]] std::string FeatureLine(const std::string& name, const FeatureOptions& feature);

}  // namespace tpuest::data
