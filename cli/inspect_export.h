#pragma once
// tpuest inspect of a SavedModel.

#include <optional>
#include <string>

#include "cli/invocation.h"

namespace tpuest::cli {

// The folder of a SavedModel that the path names: itself, or that of the saved_model.pb(txt) that
// it is.
[[nodiscard]] std::optional<std::string> SavedModelFolder(const std::string& path);

// Its tags, signatures and variables; with --json a document {kind: "saved_model", path, tags,
// signatures: {<tags>: {<name>: {method_name, inputs, outputs}}}, variables}.
int ShowSavedModel(const Invocation& invocation, const std::string& folder);

}  // namespace tpuest::cli
