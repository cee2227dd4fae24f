#pragma once
// What the fusions of a bound graph are written with.

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

// Two walks over the graph. The first, which is the fusion's own, finds patterns: Fuse() notes the
// last node of each with the function that emits it, and the nodes that go with it. The second
// (Rewritten) copies the graph, node by node with what it needs first, and calls that function
// where a pattern ends; without a pattern the graph stays as it is. A node is in at most one
// pattern, and only if nothing outside of it can tell that it is gone (IsFree, ReadersOf).
class GraphRewriter {
 public:
  explicit GraphRewriter(BoundGraph bound);
  GraphRewriter(const GraphRewriter&) = delete;
  GraphRewriter& operator=(const GraphRewriter&) = delete;

 protected:
  using Rule = std::function<void(const Node&)>;
  ~GraphRewriter() = default;

  [[nodiscard]] const Graph& graph() const { return *bound_.graph; }

  // ---- What may be fused

  // True if the node runs only for its outputs, and stands in no fusion yet.
  [[nodiscard]] bool IsFree(const Node& node) const;
  // The same where what is computed again (core/graph/recompute.h) may wait for the node: a
  // gradient is fused all the same, if what it is fused with does not read what waits.
  [[nodiscard]] bool IsFreeGradient(const Node& node) const;
  // The value that this one is computed again or stands in for, or the value itself.
  [[nodiscard]] Value FirstOf(const Value& value) const;
  // Nodes that read the value, each as often as it does; {nullptr} too if it must stay.
  [[nodiscard]] std::vector<const Node*> ReadersOf(Value value) const;
  // The only reader of the node's first output, or nullptr.
  [[nodiscard]] const Node* OnlyReader(const Node& node) const;
  // The nodes `parts` are emitted where `whole` is, by `rule`.
  void Fuse(const Node& whole, Rule rule, std::initializer_list<const Node*> parts);

  // ---- The new graph

  BoundGraph Rewritten();
  // The value in the new graph; what computes it is emitted first.
  Value At(Value old);
  void Emit(const Node& node);
  // A node in the place and under the name of an old one.
  Node* Add(const Node& old, std::string_view type, std::vector<Value> inputs, Attrs attrs);
  void Map(const Node& old, int output, Value value);
  // Maps a value that was fused away to one of as many rows: shape_sources asks no more of it.
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
  std::set<const Node*> awaited_;  // nodes that only recomputations wait for, or they, too
  std::map<const Node*, Rule> rules_;
  std::map<const Node*, const Node*> with_;
  GraphMap mapped_;
};

}  // namespace tpuest
