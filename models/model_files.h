#pragma once
// Models that are written as layers in files (models/zoo), which the program carries with it. A job
// names one by `type:`; config/blocks.h writes out its layers.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::models {

// A file of models/zoo, byte for byte.
struct ModelFile {
  std::string_view name;  // "models/zoo/resnet.yaml"
  std::string_view text;
};
// All such files, in alphabetical order.
[[nodiscard]] const std::vector<ModelFile>& ModelFiles();

// The types that a file has, in its order: its keys under `models:`.
[[nodiscard]] std::vector<std::string_view> TypesOf(const ModelFile& file);
// The first sentence of its comment.
[[nodiscard]] std::string_view SummaryOf(const ModelFile& file);

// The file of a type; nullptr where it is none's.
[[nodiscard]] const ModelFile* FindModelFile(std::string_view type);

// The model of a type that a file has, as a job's `model` section that can be changed: its comment,
// its parameters with the type's values, its blocks, layers and head.
[[nodiscard]] std::string ModelSectionText(std::string_view type);

}  // namespace tpuest::models
