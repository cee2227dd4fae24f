#pragma once
// The tool with which fusions rewrite a bound graph.

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/backend/bind.h"
#include "core/graph/value_map.h"

namespace tpuest {

[[nodiscard]] inline bool IsOp(const Node* node, std::string_view type) {
  return node != nullptr && node->type() == type;
}

// A rewrite walks the graph twice. In the first walk, which the fusion does itself, it finds
// patterns: Fuse() records the last node of each, the function that emits it, and its other nodes.
// The second walk (Rewritten) copies the graph, each node after the nodes that it needs, and calls
// that function at the end of a pattern; without patterns the graph stays as it is. A node belongs
// to at most one pattern, and only if no node outside of the pattern can notice its absence
// (IsFree, ReadersOf).
class GraphRewriter {
 public:
  explicit GraphRewriter(BoundGraph bound);
  GraphRewriter(const GraphRewriter&) = delete;
  GraphRewriter& operator=(const GraphRewriter&) = delete;

 protected:
  using Rule = std::function<void(const Node&)>;
  ~GraphRewriter() = default;

  [[nodiscard]] const Graph& graph() const { return *bound_.graph; }

  // ---- which nodes may be fused

  // True if the node runs only for its outputs and is in no pattern yet.
  [[nodiscard]] bool IsFree(const Node& node) const;
  // The same, but recomputed nodes (core/graph/recompute.h) may wait for the node: a gradient can
  // still be fused if the rest of the pattern does not read the nodes that wait.
  [[nodiscard]] bool IsFreeGradient(const Node& node) const;
  // The original of a recomputed or substituted value, or the value itself.
  [[nodiscard]] Value FirstOf(const Value& value) const;
  // The nodes that read the value, once per use; also {nullptr} if the value must stay.
  [[nodiscard]] std::vector<const Node*> ReadersOf(Value value) const;
  // The only reader of the node's first output, or nullptr.
  [[nodiscard]] const Node* OnlyReader(const Node& node) const;
  // Emits the nodes `parts` at the position of `whole`, by `rule`.
  void Fuse(const Node& whole, Rule rule, std::initializer_list<const Node*> parts);

  // ---- the new graph

  BoundGraph Rewritten();
  // The value in the new graph. Emits the nodes that compute it first.
  Value At(Value old);
  void Emit(const Node& node);
  // Adds a node with the name and position of an old one.
  Node* Add(const Node& old, std::string_view type, std::vector<Value> inputs, Attrs attrs);
  void Map(const Node& old, int output, Value value);
  // Maps a value that was fused away to one with as many rows, which is all that shape_sources
  // needs.
  void MapVanished(const Node& old, Value value) { Map(old, 0, value); }

 private:
  void FindReaders();
  [[nodiscard]] bool IsInOrder() const;
  void Finish();

  BoundGraph bound_;
  BoundGraph fused_;
  ValueMap<std::vector<const Node*>> readers_;
  std::set<Value> kept_;
  std::set<const Node*> ordered_;  // targets, and nodes with control edges
  std::set<const Node*> awaited_;  // nodes for which only recomputed nodes wait, and those nodes
  std::map<const Node*, Rule> rules_;
  std::map<const Node*, const Node*> with_;
  GraphMap mapped_;
};

}  // namespace tpuest
