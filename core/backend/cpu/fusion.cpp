#include "core/backend/cpu/fusion.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/graph/cut.h"

namespace tpuest {
namespace {

bool Is(const Node* node, std::string_view type) { return node != nullptr && node->type() == type; }

// Two walks over the graph. The first finds patterns: rules_ holds the last node of each, with the
// function that emits it, and with_ the nodes that go with it. The second copies the graph, node by
// node with what it needs first, and calls the rule where a pattern ends. A node is in at most one
// pattern, and only if nothing outside of it can tell that it is gone (IsFree, ReadersOf).
class Fuser {
 public:
  explicit Fuser(const BoundGraph& bound) : bound_(bound) {
    fused_.graph = std::make_unique<Graph>(bound.graph->registry());
  }

  BoundGraph Run() {
    FindReaders();
    const auto& nodes = bound_.graph->nodes();
    // Pools first: what they move is not fused elsewhere.
    for (const auto& node : nodes) MatchPool(*node);
    for (const auto& node : nodes) MatchBias(*node);
    for (const auto& node : nodes) MatchFilterGrad(*node);
    for (const auto& node : nodes) Emit(*node);
    Finish();
    return std::move(fused_);
  }

 private:
  using Rule = void (Fuser::*)(const Node&);

  // ---- What may be fused

  // Only what is needed counts as a reader: a gradient that nobody asked for must not keep a
  // pattern apart. A node with control edges stays by itself: somebody waits for it, or it waits.
  void FindReaders() {
    std::vector<Value> ends = bound_.fetches;
    if (bound_.guard.valid()) ends.push_back(bound_.guard);
    kept_.insert(ends.begin(), ends.end());
    const std::vector<char> needed = NeededNodes(*bound_.graph, ends, bound_.targets, {});
    ordered_.insert(bound_.targets.begin(), bound_.targets.end());
    for (const auto& node : bound_.graph->nodes()) {
      if (!needed[static_cast<size_t>(node->id())]) continue;
      for (const Value& input : node->inputs()) readers_[input].push_back(node.get());
      ordered_.insert(node->control_inputs().begin(), node->control_inputs().end());
      if (!node->control_inputs().empty()) ordered_.insert(node.get());
    }
  }

  // True if the node runs only for its outputs, and stands in no fusion yet.
  [[nodiscard]] bool IsFree(const Node& node) const {
    return !ordered_.contains(&node) && !rules_.contains(&node) && !with_.contains(&node);
  }

  // Nodes that read the value, each as often as it does; {nullptr} too if it must stay.
  [[nodiscard]] std::vector<const Node*> ReadersOf(Value value) const {
    std::vector<const Node*> readers;
    const auto found = readers_.find(value);
    if (found != readers_.end()) readers = found->second;
    if (kept_.contains(value)) readers.push_back(nullptr);
    return readers;
  }

  [[nodiscard]] const Node* OnlyReader(const Node& node) const {
    const std::vector<const Node*> readers = ReadersOf({const_cast<Node*>(&node), 0});
    return readers.size() == 1 ? readers[0] : nullptr;
  }

  // The nodes `parts` are emitted where `whole` is, by `rule`.
  void Fuse(const Node& whole, Rule rule, std::initializer_list<const Node*> parts) {
    rules_[&whole] = rule;
    for (const Node* const part : parts) with_[part] = &whole;
  }

  // ---- The patterns

  // Matches Relu(x) that only this pool reads, and in training the gradients of both. The largest
  // of a window's values, made positive, is the largest of its positive parts. Where that is zero
  // the gate stops the gradient; elsewhere the window's first maximum is the same before and after
  // Relu.
  void MatchPool(const Node& pool) {
    if (!Is(&pool, "MaxPool") || !Is(pool.input(0).node, "Relu")) return;
    const Node& relu = *pool.input(0).node;
    const Node* pool_grad = nullptr;
    const Node* relu_grad = nullptr;
    for (const Node* const reader : ReadersOf(pool.input(0))) {
      if (reader == &pool) continue;
      if (Is(reader, "MaxPoolGrad") && pool_grad == nullptr) {
        pool_grad = reader;
      } else if (Is(reader, "ReluGrad") && relu_grad == nullptr) {
        relu_grad = reader;
      } else {
        return;
      }
    }
    if (!IsFree(pool) || !IsFree(relu)) return;
    if (pool_grad != nullptr || relu_grad != nullptr) {
      if (!IsGradOfPool(pool, pool_grad, relu_grad)) return;
      Fuse(*relu_grad, &Fuser::EmitPoolGrad, {pool_grad});
      for (const Node* const reader : ReadersOf({const_cast<Node*>(relu_grad), 0})) {
        if (Is(reader, "BiasAddGrad") && IsFree(*reader)) {
          Fuse(*reader, &Fuser::EmitPooledBiasGrad, {});
        }
      }
    }
    Fuse(pool, &Fuser::EmitPool, {&relu});
  }

  [[nodiscard]] bool IsGradOfPool(const Node& pool, const Node* pool_grad,
                                  const Node* relu_grad) const {
    const Value relu = pool.input(0);
    return pool_grad != nullptr && relu_grad != nullptr && IsFree(*pool_grad) &&
           IsFree(*relu_grad) && OnlyReader(*pool_grad) == relu_grad &&
           pool_grad->input(0) == relu && pool_grad->input(1).node == &pool &&
           relu_grad->input(0).node == pool_grad && relu_grad->input(1) == relu;
  }

  // Matches BiasAdd and the product that only it reads; and its only reader, if that is a Relu.
  void MatchBias(const Node& bias) {
    if (!Is(&bias, "BiasAdd") || !IsFree(bias)) return;
    const Node& product = *bias.input(0).node;
    const bool fits =
        Is(&product, "Conv2D") || (Is(&product, "MatMul") && !product.Attr<bool>("transpose_a"));
    if (!fits || !IsFree(product) || OnlyReader(product) != &bias) return;
    const Node* const reader = OnlyReader(bias);
    if (Is(reader, "Relu") && IsFree(*reader)) {
      Fuse(*reader, &Fuser::EmitProduct, {&product, &bias});
    } else {
      Fuse(bias, &Fuser::EmitProduct, {&product});
    }
  }

  // Matches the gradients of filter and bias from one dy. The filter's goes where the bias's
  // stands, so its other inputs must be there before.
  void MatchFilterGrad(const Node& bias_grad) {
    if (!Is(&bias_grad, "BiasAddGrad") || !IsFree(bias_grad)) return;
    for (const Node* const reader : ReadersOf(bias_grad.input(0))) {
      if (!Is(reader, "Conv2DBackpropFilter") || !IsFree(*reader)) continue;
      const bool there = reader->input(0).node->id() < bias_grad.id() &&
                         Is(reader->input(1).node, "Const") &&
                         reader->input(2) == bias_grad.input(0);
      if (!there) continue;
      bias_grads_[reader] = &bias_grad;
      return Fuse(*reader, &Fuser::EmitFilterGrad, {&bias_grad});
    }
  }

  // ---- The new graph

  Value At(Value old) {
    Emit(*old.node);
    return mapped_.at(old);
  }

  // Emits the node after all that it needs, if it is not there yet.
  void Emit(const Node& node) {
    if (nodes_.contains(&node)) return;
    const auto with = with_.find(&node);
    if (with != with_.end()) return Emit(*with->second);
    const auto rule = rules_.find(&node);
    if (rule != rules_.end()) return (this->*rule->second)(node);
    std::vector<Value> inputs;
    for (const Value& input : node.inputs()) inputs.push_back(At(input));
    for (Node* const control : node.control_inputs()) Emit(*control);
    Node* const copy = Add(node, node.type(), std::move(inputs), node.attrs());
    for (Node* const control : node.control_inputs()) copy->AddControlInput(nodes_.at(control));
    nodes_[&node] = copy;
    for (int i = 0; i < node.outputs(); ++i) Map(node, i, copy->output(i));
  }

  // A node in the place and under the name of an old one.
  Node* Add(const Node& old, std::string_view type, std::vector<Value> inputs, Attrs attrs) {
    return fused_.graph->AddNamedNode(type, std::move(inputs), std::move(attrs), old.name(),
                                      old.origin());
  }

  void Map(const Node& old, int output, Value value) {
    nodes_[&old] = value.node;
    mapped_[{const_cast<Node*>(&old), output}] = value;
  }

  // Maps a value that was fused away to one of as many rows: shape_sources asks no more of it.
  void MapVanished(const Node& old, Value value) { Map(old, 0, value); }

  static Attrs With(const Node& node, std::string activation) {
    Attrs attrs = node.attrs();
    attrs.erase("use_cudnn_on_gpu");
    attrs["activation"] = std::move(activation);
    return attrs;
  }

  void EmitPool(const Node& pool) {
    const Node& relu = *pool.input(0).node;
    const Value x = At(relu.input(0));
    MapVanished(relu, x);
    Map(pool, 0, Add(pool, "_FusedMaxPool", {x}, With(pool, "Relu"))->output(0));
  }

  void EmitPoolGrad(const Node& relu_grad) {
    const Node& pool_grad = *relu_grad.input(0).node;
    const Value x = At(relu_grad.input(1).node->input(0));
    const Value y = At(pool_grad.input(1));
    const Value gated =
        Add(pool_grad, "ReluGrad", {At(pool_grad.input(2)), y}, relu_grad.attrs())->output(0);
    const Value dx = Add(relu_grad, "MaxPoolGrad", {x, y, gated}, pool_grad.attrs())->output(0);
    gated_[&relu_grad] = gated;
    MapVanished(pool_grad, dx);
    Map(relu_grad, 0, dx);
  }

  // The pool's gradient sends every number that is not zero to one element, so they add up to the
  // same before it.
  void EmitPooledBiasGrad(const Node& bias_grad) {
    const Node& relu_grad = *bias_grad.input(0).node;
    Emit(relu_grad);
    Map(bias_grad, 0,
        Add(bias_grad, "BiasAddGrad", {gated_.at(&relu_grad)}, bias_grad.attrs())->output(0));
  }

  void EmitProduct(const Node& last) {
    const bool relu = last.type() == "Relu";
    const Node& bias = relu ? *last.input(0).node : last;
    const Node& product = *bias.input(0).node;
    const Value y = Add(last, product.type() == "MatMul" ? "_FusedMatMul" : "_FusedConv2D",
                        {At(product.input(0)), At(product.input(1)), At(bias.input(1))},
                        With(product, relu ? "Relu" : ""))
                        ->output(0);
    for (const Node* const part : {&product, &bias}) MapVanished(*part, y);
    Map(last, 0, y);
  }

  void EmitFilterGrad(const Node& filter_grad) {
    std::vector<Value> inputs;
    for (const Value& input : filter_grad.inputs()) inputs.push_back(At(input));
    Attrs attrs = filter_grad.attrs();
    attrs.erase("use_cudnn_on_gpu");
    Node* const both =
        Add(filter_grad, "_Conv2DBackpropFilterBias", std::move(inputs), std::move(attrs));
    Map(filter_grad, 0, both->output(0));
    Map(*bias_grads_.at(&filter_grad), 0, both->output(1));
  }

  // Feeds, fetches and shape_sources are told of the new graph's values.
  void Finish() {
    for (const Value& feed : bound_.feeds) fused_.feeds.push_back(mapped_.at(feed));
    for (const Value& fetch : bound_.fetches) fused_.fetches.push_back(mapped_.at(fetch));
    for (const Node* const target : bound_.targets) fused_.targets.push_back(nodes_.at(target));
    if (bound_.guard.valid()) fused_.guard = mapped_.at(bound_.guard);
    for (const auto& [constant, sources] : bound_.shape_sources) {
      std::vector<Value>& to = fused_.shape_sources[nodes_.at(constant)];
      for (const Value& source : sources) to.push_back(mapped_.at(source));
    }
  }

  const BoundGraph& bound_;
  BoundGraph fused_;
  std::map<Value, std::vector<const Node*>> readers_;
  std::set<Value> kept_;
  std::set<const Node*> ordered_;  // targets, and nodes with control edges
  std::map<const Node*, Rule> rules_;
  std::map<const Node*, const Node*> with_;
  std::map<const Node*, const Node*> bias_grads_;  // by the filter's gradient
  std::map<const Node*, Value> gated_;             // by the Relu's gradient
  std::map<Value, Value> mapped_;
  std::map<const Node*, Node*> nodes_;
};

}  // namespace

BoundGraph Fused(const BoundGraph& bound) { return Fuser(bound).Run(); }

}  // namespace tpuest
