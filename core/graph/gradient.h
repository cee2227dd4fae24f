#pragma once
// Reverse-mode differentiation: the gradient of a graph is more graph.

#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

// A gradient that is zero but for some rows of axis 0: values[i] belongs to row indices[i];
// a row may occur more than once (the gradient is then their sum) and -1 is no row.
// values [n, ...], indices int32 or int64 [n].
struct IndexedSlices {
  Value values;
  Value indices;
  int64_t rows = 0;
  // A lookup of distinct ids, as TensorFlow's of categories: what looks at the values, to clip
  // them, sees the sum of a row's, once.
  bool distinct = false;
  std::vector<IndexedSlices> parts = {};  // of several lookups: each one's, in the order of values
  bool once = false;                      // no row occurs twice
};

// std::monostate says that there is no path from y to x.
using Gradient = std::variant<std::monostate, Value, IndexedSlices>;

// A gradient function sees its node and dy through this, and sets dx. What it sees of the node's
// inputs and outputs may have been computed again (Recompute).
class GradContext {
 public:
  GradContext(Node& node, std::vector<Value> output_grads, std::vector<bool> wanted)
      : node_(node),
        output_grads_(std::move(output_grads)),
        wanted_(std::move(wanted)),
        inputs_(node.inputs()),
        input_grads_(node.inputs().size()) {
    for (int i = 0; i < node.outputs(); ++i) outputs_.push_back(node.output(i));
  }
  [[nodiscard]] Node& node() const { return node_; }
  [[nodiscard]] Graph& graph() const { return node_.graph(); }
  [[nodiscard]] Value input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  [[nodiscard]] Value output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  void See(std::vector<Value> inputs, std::vector<Value> outputs) {
    inputs_ = std::move(inputs);
    outputs_ = std::move(outputs);
  }
  // dy of output i; not valid() where y does not depend on it.
  [[nodiscard]] Value Dy(int i = 0) const { return output_grads_[static_cast<size_t>(i)]; }
  // False if no x is behind input i: its gradient is not used and need not be built.
  [[nodiscard]] bool Wants(int i) const { return wanted_[static_cast<size_t>(i)]; }
  void SetDx(int i, Value dx) { input_grads_[static_cast<size_t>(i)] = dx; }
  void SetDx(int i, IndexedSlices dx) { input_grads_[static_cast<size_t>(i)] = dx; }
  [[nodiscard]] const std::vector<Gradient>& input_grads() const { return input_grads_; }

 private:
  Node& node_;
  std::vector<Value> output_grads_;
  std::vector<bool> wanted_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<Gradient> input_grads_;
};

// Results that are not kept from the forward pass to the backward one: this computes them again
// when its first reader's dy is there, of results that are kept (recompute.h).
struct Recompute {
  // True for nodes of the forward pass whose results are to go; a null function: of none.
  std::function<bool(const Node&)> covers;
  // Such a node's outputs on other inputs, to the bit; empty: those of a node like it.
  std::function<std::vector<Value>(Node& node, const std::vector<Value>& inputs)> again;
};

// dy/dx for each x, in their order, of x's shape and dtype. y is a scalar, or dy its given gradient
// (of y's shape and dtype; ones if it is not given). Nodes go into the scope "gradients". An op
// without a gradient rule on the path is an Error kUsage that names the node and its place.
[[nodiscard]] std::vector<Gradient> Gradients(Value y, std::span<const Value> xs, Value dy = {},
                                              const Recompute& recompute = {});

// The gradient, which must not be monostate, as one tensor of x's shape (UnsortedSegmentSum of its
// slices).
[[nodiscard]] Value ToDense(const Gradient& gradient);

}  // namespace tpuest
