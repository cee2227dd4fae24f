#pragma once
// The names of the files in the folder of a SavedModel:
//
//   saved_model.pb, or saved_model.pbtxt   the MetaGraphs
//   variables/variables.*                  their variables, a bundle
//   assets/, assets.extra/                 files that graphs read; files that go along

#include <string>
#include <string_view>

namespace tpuest {

inline constexpr std::string_view kAssets = "assets";
inline constexpr std::string_view kAssetsExtra = "assets.extra";
inline constexpr std::string_view kVariables = "variables";

[[nodiscard]] std::string_view SavedModelName(bool as_text);
[[nodiscard]] std::string SavedModelPath(const std::string& folder, bool as_text);
// Whether the folder contains a SavedModel, binary or text.
[[nodiscard]] bool IsSavedModel(const std::string& folder);

// The prefix of the variables, whether or not there are any.
[[nodiscard]] std::string SavedModelVariables(const std::string& folder);

}  // namespace tpuest
