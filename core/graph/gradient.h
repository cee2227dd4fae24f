#pragma once
// Reverse-mode differentiation: a gradient is built as further nodes of the graph.

#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

// A gradient that is zero except for some rows of axis 0: values[i] belongs to row indices[i]. If a
// row occurs more than once, its gradient is the sum; -1 means no row. values [n, ...], indices
// int32 or int64 [n].
struct IndexedSlices {
  Value values;
  Value indices;
  int64_t rows = 0;
  // True for a lookup of distinct ids, such as TensorFlow's lookup of categories: clipping sees the
  // sum of a row's values once.
  bool distinct = false;
  // for several lookups: one part per lookup, in the order of values
  std::vector<IndexedSlices> parts = {};
  bool once = false;  // no row occurs twice
};

// std::monostate means that y does not depend on x.
using Gradient = std::variant<std::monostate, Value, IndexedSlices>;

// A gradient function reads its node and dy through this, and sets dx. The node's inputs and
// outputs may be recomputed values (Recompute).
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
  // dy of output i; not valid() if y does not depend on it.
  [[nodiscard]] Value Dy(int i = 0) const { return output_grads_[static_cast<size_t>(i)]; }
  // False if input i depends on no x: its gradient is not used and need not be built.
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

// Forward results that are not kept for the backward pass. `again` recomputes them from kept
// results when the dy of their first reader is ready (recompute.h).
struct Recompute {
  // True for forward nodes whose results are dropped; a null function means none.
  std::function<bool(const Node&)> covers;
  // Returns such a node's outputs on other inputs, equal to the bit; if empty, copies the node.
  std::function<std::vector<Value>(Node& node, const std::vector<Value>& inputs)> again;
};

// Returns dy/dx for each x, in their order, with x's shape and dtype. Without `dy`, y must be a
// scalar; otherwise dy is the gradient of y, of its shape and dtype. Adds nodes in the scope
// "gradients". Throws Error kUsage, with the node and its place, for an op on the path that has no
// gradient rule.
[[nodiscard]] std::vector<Gradient> Gradients(Value y, std::span<const Value> xs, Value dy = {},
                                              const Recompute& recompute = {});

// Returns the gradient, which must not be monostate, as one tensor of x's shape (UnsortedSegmentSum
// of its slices).
[[nodiscard]] Value ToDense(const Gradient& gradient);

}  // namespace tpuest
