#pragma once
// Models that are kept as files, and the lookup of their types.

#include <functional>
#include <optional>
#include <string_view>

namespace tpuest::models {

// A model that is kept as a file, with the keys
//   models      its types, each with the parameters that it sets
//   parameters  the keys of a section of that type, with defaults, or `required`
//   blocks, layers, and head, unless the section has a head
struct ModelFile {
  std::string_view name;  // for messages: "models/zoo/resnet.yaml"
  std::string_view text;
};

// Returns the file of a `type:`; nullopt if it has none.
using ModelFinder = std::function<std::optional<ModelFile>(std::string_view type)>;

}  // namespace tpuest::models
