#pragma once
// First step of compiling, for the CPU and for StableHLO: the needed part of a graph is copied with
// every dimension bound, composite ops expanded and constants folded.

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

// Error kUsage, with the node's place: a placeholder that is not fed, a feed of another shape than
// its placeholder's, or results whose size follows from values that are not known.
[[nodiscard]] BoundGraph BindGraph(const ProgramSpec& spec);

// Whether all that a node does is to give tensors without elements. It needs no kernel then: the
// kernel would prepare what is as large as a dimension beside the empty one.
[[nodiscard]] bool GivesNoElements(const Node& node);

// Runs one node on constant inputs, by its CPU kernel; returns its outputs.
[[nodiscard]] std::vector<Tensor> EvaluateNode(Node& node, const std::vector<Tensor>& inputs);

}  // namespace tpuest
