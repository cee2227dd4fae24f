#include "core/backend/cpu/rewriter.h"

#include <algorithm>
#include <utility>

#include "core/graph/cut.h"
#include "core/graph/recompute.h"

namespace tpuest {

GraphRewriter::GraphRewriter(BoundGraph bound)
    : bound_(std::move(bound)), readers_(*bound_.graph), mapped_(*bound_.graph) {
  fused_.graph = std::make_unique<Graph>(bound_.graph->registry());
  FindReaders();
}

// Only needed nodes count as readers: an unused gradient must not prevent a fusion. A node with
// control edges is not fused: another node waits for it, or it waits.
void GraphRewriter::FindReaders() {
  std::vector<Value> ends = bound_.fetches;
  if (bound_.guard.valid()) ends.push_back(bound_.guard);
  kept_.insert(ends.begin(), ends.end());
  const std::vector<char> needed = NeededNodes(*bound_.graph, ends, bound_.targets, {});
  ordered_.insert(bound_.targets.begin(), bound_.targets.end());
  for (const auto& node : bound_.graph->nodes()) {
    if (!needed[static_cast<size_t>(node->id())]) continue;
    for (const Value& input : node->inputs()) readers_[input].push_back(node.get());
    auto& waited_for = node->HasAttr(kRecomputed) ? awaited_ : ordered_;
    waited_for.insert(node->control_inputs().begin(), node->control_inputs().end());
    if (!node->control_inputs().empty()) ordered_.insert(node.get());
  }
}

bool GraphRewriter::IsFree(const Node& node) const {
  return IsFreeGradient(node) && !awaited_.contains(&node);
}

bool GraphRewriter::IsFreeGradient(const Node& node) const {
  return !ordered_.contains(&node) && !rules_.contains(&node) && !with_.contains(&node);
}

Value GraphRewriter::FirstOf(const Value& value) const {
  if (!value.node->HasAttr(kRecomputed)) return value;
  Node* const first = graph().FindNode(value.node->Attr<std::string>(kRecomputed));
  return first == nullptr || value.index >= first->outputs() ? value : first->output(value.index);
}

std::vector<const Node*> GraphRewriter::ReadersOf(Value value) const {
  std::vector<const Node*> readers = readers_[value];
  if (kept_.contains(value)) readers.push_back(nullptr);
  return readers;
}

const Node* GraphRewriter::OnlyReader(const Node& node) const {
  const std::vector<const Node*> readers = ReadersOf({const_cast<Node*>(&node), 0});
  return readers.size() == 1 ? readers[0] : nullptr;
}

void GraphRewriter::Fuse(const Node& whole, Rule rule, std::initializer_list<const Node*> parts) {
  rules_[&whole] = std::move(rule);
  for (const Node* const part : parts) with_[part] = &whole;
}

// True if a copy would have the nodes in the order of the graph itself.
bool GraphRewriter::IsInOrder() const {
  const auto& nodes = bound_.graph->nodes();
  return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) {
    const auto& waits = node->control_inputs();
    return std::all_of(waits.begin(), waits.end(),
                       [&](const Node* control) { return control->id() < node->id(); });
  });
}

BoundGraph GraphRewriter::Rewritten() {
  if (rules_.empty() && IsInOrder()) return std::move(bound_);
  for (const auto& node : bound_.graph->nodes()) Emit(*node);
  Finish();
  return std::move(fused_);
}

Value GraphRewriter::At(Value old) {
  Emit(*old.node);
  return mapped_.At(old);
}

// Emits the node after the nodes that it needs, unless it is already emitted.
void GraphRewriter::Emit(const Node& node) {
  if (mapped_[node] != nullptr) return;
  const auto with = with_.find(&node);
  if (with != with_.end()) return Emit(*with->second);
  const auto rule = rules_.find(&node);
  if (rule != rules_.end()) return rule->second(node);
  std::vector<Value> inputs;
  for (const Value& input : node.inputs()) inputs.push_back(At(input));
  for (Node* const control : node.control_inputs()) Emit(*control);
  Node* const copy = Add(node, node.type(), std::move(inputs), node.attrs());
  for (Node* const control : node.control_inputs()) copy->AddControlInput(mapped_.At(*control));
  mapped_[node] = copy;
  for (int i = 0; i < node.outputs(); ++i) Map(node, i, copy->output(i));
}

Node* GraphRewriter::Add(const Node& old, std::string_view type, std::vector<Value> inputs,
                         Attrs attrs) {
  return fused_.graph->AddNamedNode(type, std::move(inputs), std::move(attrs), old.name(),
                                    old.origin());
}

void GraphRewriter::Map(const Node& old, int output, Value value) {
  mapped_[old] = value.node;
  mapped_[{const_cast<Node*>(&old), output}] = value;
}

// Maps feeds, fetches and shape_sources to values of the new graph.
void GraphRewriter::Finish() {
  for (const Value& feed : bound_.feeds) fused_.feeds.push_back(mapped_.At(feed));
  for (const Value& fetch : bound_.fetches) fused_.fetches.push_back(mapped_.At(fetch));
  for (const Node* const target : bound_.targets) fused_.targets.push_back(mapped_.At(*target));
  if (bound_.guard.valid()) fused_.guard = mapped_.At(bound_.guard);
  for (const auto& [constant, sources] : bound_.shape_sources) {
    std::vector<Value>& to = fused_.shape_sources[mapped_.At(*constant)];
    for (const Value& source : sources) to.push_back(mapped_.At(source));
  }
}

}  // namespace tpuest
