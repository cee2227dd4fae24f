#include "core/graph/recompute.h"

namespace tpuest {

Recomputer::Recomputer(const Graph& graph, const Recompute& options)
    : options_(options), forward_nodes_(graph.next_node()) {}

bool Recomputer::IsCovered(const Node& node) const {
  return options_.covers && node.id() < forward_nodes_ && options_.covers(node);
}

bool Recomputer::IsAgain(const Node& node) const {
  const OpDef& op = node.op();
  return op.source == ValueSource::kNone && !op.stateful && !op.host && !op.writes &&
         node.control_inputs().empty() && IsCovered(node);
}

// Variables and constants are always available. So are results of covered nodes that cannot be
// recomputed, such as random numbers, of which only those that are read are kept.
Value Recomputer::Kept(const Value& value) {
  const Node& node = *value.node;
  const bool is_there = node.op().source != ValueSource::kNone || node.op().stateful ||
                        value.dtype() == DType::kResource || IsCovered(node);
  if (is_there) return value;
  const auto found = kept_.find(value);
  if (found != kept_.end()) return found->second;
  const Value behind = value.graph().Add(
      "Identity", {value}, {{std::string(kRecomputed), value.name()}}, node.name() + "_kept");
  for (Node* const dy : after_) behind.node->AddControlInput(dy);
  return kept_[value] = behind;
}

Value Recomputer::Seen(const Value& value) {
  if (!IsAgain(*value.node)) return value;
  return Again(*value.node)[static_cast<size_t>(value.index)];
}

// A node none of whose inputs is new would compute what it has computed: that is kept, such as the
// mask that a dropout makes of random numbers.
const std::vector<Value>& Recomputer::Again(Node& node) {
  const auto found = again_.find(&node);
  if (found != again_.end()) return found->second;
  std::vector<Value> inputs;
  bool is_new = false;
  for (const Value& input : node.inputs()) {
    const Value seen = IsAgain(*input.node) ? Seen(input) : Kept(input);
    is_new |= seen != input;
    inputs.push_back(seen);
  }
  std::vector<Value> results;
  if (is_new) {
    const OriginScope origin(node.graph(), node.origin());
    if (options_.again) results = options_.again(node, inputs);
    if (results.empty()) {
      Attrs attrs = node.attrs();
      attrs[std::string(kRecomputed)] = node.name();
      Node* const copy = node.graph().AddNode(node.type(), inputs, attrs, node.name() + "_again");
      for (int i = 0; i < node.outputs(); ++i) results.push_back(copy->output(i));
    }
  } else {
    inputs = node.inputs();
    for (int i = 0; i < node.outputs(); ++i) results.push_back(node.output(i));
  }
  again_inputs_[&node] = std::move(inputs);
  return again_[&node] = std::move(results);
}

void Recomputer::Show(Node& node, const std::vector<Value>& dys, GradContext& context) {
  if (!options_.covers) return;
  after_.clear();
  kept_.clear();
  for (const Value& dy : dys) {
    if (dy.valid()) after_.push_back(dy.node);
  }
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  if (IsAgain(node)) {
    outputs = Again(node);
    inputs = again_inputs_.at(&node);
  } else {
    for (const Value& input : node.inputs()) inputs.push_back(Seen(input));
    for (int i = 0; i < node.outputs(); ++i) outputs.push_back(node.output(i));
  }
  context.See(std::move(inputs), std::move(outputs));
}

}  // namespace tpuest
