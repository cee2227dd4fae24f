#pragma once
// tpuest inspect of a SavedModel, or of a graph alone.

#include <optional>
#include <string>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// The folder of a SavedModel that the path names: itself, or that of the saved_model.pb(txt) that
// it is.
[[nodiscard]] std::optional<std::string> SavedModelFolder(const std::string& path);

// Its tags, signatures, ops, assets and variables; with --json a document {kind: "saved_model",
// path, tags, signatures: {<tags>: {<name>: {method_name, inputs, outputs}}}, ops: {<tags>: {<op>:
// nodes}}, assets: [{file, bytes}], variables}.
int ShowSavedModel(const Invocation& invocation, const std::string& folder);

// The ops of a GraphDef's file, graph.pbtxt for instance; with --json {kind: "graph", path, ops:
// {<op>: nodes}}.
int ShowGraph(const Invocation& invocation, const std::string& path);

}  // namespace tpuest::cli
