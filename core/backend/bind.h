#pragma once
// First step of compiling for the CPU: the needed part of a graph, copied with every dimension
// bound, composite ops expanded and constants folded.

#include <map>
#include <memory>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"

namespace tpuest {

struct BoundGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Value> feeds;    // as ProgramSpec::feeds
  std::vector<Value> fetches;  // as ProgramSpec::fetches
  std::vector<Node*> targets;
  Value guard;
  // Constants that were folded from the shapes of these values: they mean "as many rows as those".
  std::map<const Node*, std::vector<Value>> shape_sources;
};

[[nodiscard]] BoundGraph BindGraph(const ProgramSpec& spec);

// Runs one node on constant inputs.
[[nodiscard]] std::vector<Tensor> EvaluateNode(Node& node, const std::vector<Tensor>& inputs);

}  // namespace tpuest
