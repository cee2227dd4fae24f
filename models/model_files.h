#pragma once
// Models that are written as layers in files (models/zoo) and embedded in the program. A job names
// one by `type:`; models/blocks/expand.h expands its layers.

#include <string>
#include <string_view>
#include <vector>

#include "models/blocks/model_file.h"

namespace tpuest::models {

// Returns the files of models/zoo, byte for byte, in alphabetical order.
[[nodiscard]] const std::vector<ModelFile>& ModelFiles();

// The types in a file, in its order: its keys under `models:`.
[[nodiscard]] std::vector<std::string_view> TypesOf(const ModelFile& file);
// The first sentence of the file's leading comment.
[[nodiscard]] std::string_view SummaryOf(const ModelFile& file);

// Returns the file that defines a type, or nullptr.
[[nodiscard]] const ModelFile* FindModelFile(std::string_view type);

// Returns the model of a type in a file as a job's `model` section that can be edited: the file's
// comment, its parameters with the type's values, its blocks, layers and head.
[[nodiscard]] std::string ModelSectionText(std::string_view type);

}  // namespace tpuest::models
