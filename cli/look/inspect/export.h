#pragma once
// tpuest inspect shows a SavedModel, or just a graph.

#include <optional>
#include <string>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// Returns the folder of the SavedModel that the path names, by its folder or by its
// saved_model.pb(txt); nullopt if it names none.
[[nodiscard]] std::optional<std::string> SavedModelFolder(const std::string& path);

// Prints tags, signatures, ops, assets and variables on stdout and returns exit code 0; with --json
// a document {kind: "saved_model", path, tags, signatures: {<tags>: {<name>: {method_name, inputs,
// outputs}}}, ops: {<tags>: {<op>: nodes}}, assets: [{file, bytes}], variables}.
int ShowSavedModel(const Invocation& invocation, const std::string& folder);

// Prints how often a GraphDef's file, graph.pbtxt for instance, has each op, and returns exit code
// 0; with --json {kind: "graph", path, ops: {<op>: nodes}}.
int ShowGraph(const Invocation& invocation, const std::string& path);

}  // namespace tpuest::cli
