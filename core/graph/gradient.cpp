#include "core/graph/gradient.h"

#include <algorithm>
#include <unordered_map>

#include "core/graph/recompute.h"

namespace tpuest {
namespace {

// Marks, by id, the nodes that y depends on and that depend on some x: only they carry gradients.
// Nodes stand in topological order, so one pass forward finds what lies above the xs and one
// backward what lies below y.
std::vector<char> NodesBetween(const Graph& graph, Value y, std::span<const Value> xs) {
  const size_t n = graph.nodes().size();
  std::vector<char> above(n, 0);
  for (const Value& x : xs) above[static_cast<size_t>(x.node->id())] = 1;
  for (const auto& node : graph.nodes()) {
    for (const Value& input : node->inputs()) {
      if (above[static_cast<size_t>(input.node->id())]) above[static_cast<size_t>(node->id())] = 1;
    }
  }
  std::vector<char> below(n, 0);
  below[static_cast<size_t>(y.node->id())] = 1;
  for (size_t i = n; i-- > 0;) {
    if (!below[i]) continue;
    for (const Value& input : graph.nodes()[i]->inputs()) {
      below[static_cast<size_t>(input.node->id())] = 1;
    }
  }
  for (size_t i = 0; i < n; ++i) above[i] = static_cast<char>(above[i] && below[i]);
  return above;
}

// Rows that occur twice are added up in the order of the slices, which fixes the bits. -1 is no
// row: UnsortedSegmentSum leaves it out.
Value Dense(const Gradient& gradient) {
  if (const auto* const value = std::get_if<Value>(&gradient)) return *value;
  const auto& slices = std::get<IndexedSlices>(gradient);
  Graph& graph = slices.values.graph();
  const Value rows = graph.Scalar<int32_t>(static_cast<int32_t>(slices.rows), "num_segments");
  return graph.Add("UnsortedSegmentSum", {slices.values, slices.indices, rows});
}

// The sum of what the readers of one value sent back, in the order in which they did. It stays
// sparse if all parts are: then rows are appended, not added, and one addition comes at the end.
Gradient AddUp(const std::vector<Gradient>& parts) {
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  const bool sparse = std::all_of(parts.begin(), parts.end(), [](const Gradient& part) {
    return std::holds_alternative<IndexedSlices>(part);
  });
  std::vector<Value> values;
  std::vector<Value> indices;
  std::vector<IndexedSlices> lookups;
  for (const Gradient& part : parts) {
    values.push_back(sparse ? std::get<IndexedSlices>(part).values : Dense(part));
    if (!sparse) continue;
    lookups.push_back(std::get<IndexedSlices>(part));
    indices.push_back(lookups.back().indices);
  }
  Graph& graph = values[0].graph();
  if (!sparse) return graph.Add("AddN", values);
  const Value axis = graph.Scalar<int32_t>(0, "axis");
  values.push_back(axis);
  indices.push_back(axis);
  return IndexedSlices{graph.Add("ConcatV2", values), graph.Add("ConcatV2", indices),
                       lookups[0].rows, false, lookups};
}

// Walks once from y back. parts_ gathers what the readers of each value send; all of them have a
// larger id than the value's node, so when the walk comes to a node its parts are complete.
class Backward {
 public:
  Backward(Value y, std::span<const Value> xs, const Recompute& recompute)
      : y_(y),
        xs_(xs),
        carries_(NodesBetween(y.graph(), y, xs)),
        recomputer_(y.graph(), recompute) {}

  std::vector<Gradient> Run(Value dy) {
    if (!dy.valid()) dy = Ones();
    parts_[y_].push_back(dy);
    for (int id = y_.node->id(); id >= 0; --id) {
      if (carries_[static_cast<size_t>(id)]) Visit(*y_.graph().nodes()[static_cast<size_t>(id)]);
    }
    std::vector<Gradient> gradients;
    for (const Value& x : xs_) gradients.push_back(AddUp(parts_[x]));
    return gradients;
  }

 private:
  // The gradient of y by itself. It does not depend on y's values, so that the backward pass of
  // some rows need not wait until y, which may be a sum over all of them, is there.
  [[nodiscard]] Value Ones() const {
    Graph& graph = y_.graph();
    const bool is_scalar = y_.shape().known_rank() && y_.shape().rank() == 0;
    const Value one = graph.ScalarOf(y_.dtype(), 1.0, is_scalar ? "grad_ys_0" : "grad_ys_0/Const");
    if (is_scalar) return one;
    return graph.Add("Fill", {graph.Add("Shape", {y_}), one}, {}, "grad_ys_0");
  }

  void Visit(Node& node) {
    if (std::any_of(xs_.begin(), xs_.end(), [&](const Value& x) { return x.node == &node; })) {
      return;  // gradients stop at what they are taken for
    }
    if (node.op().source == ValueSource::kRead) return PassOn(node);
    // A rule sees dense gradients only; the one sparse consumer is the read of a variable, above.
    std::vector<Value> dys(static_cast<size_t>(node.outputs()));
    bool any = false;
    for (int i = 0; i < node.outputs(); ++i) {
      const auto found = parts_.find(node.output(i));
      if (found == parts_.end()) continue;
      dys[static_cast<size_t>(i)] = Dense(AddUp(found->second));
      any = true;
    }
    if (!any) return;
    if (node.op().grad == nullptr) {
      throw Error(Code::kUsage, fmt::format("{} '{}' has no gradient", node.type(), node.name()))
          .At(node.origin());
    }
    // A fault in the backward pass points to the line of the job that made the forward node.
    const OriginScope origin(node.graph(), node.origin());
    const NameScope scope(node.graph(), node.name() + "_grad");
    std::vector<bool> wanted;
    for (const Value& input : node.inputs()) {
      wanted.push_back(carries_[static_cast<size_t>(input.node->id())] != 0);
    }
    GradContext context(node, dys, wanted);
    recomputer_.Show(node, dys, context);
    node.op().grad(context);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Gradient& dx = context.input_grads()[i];
      if (!std::holds_alternative<std::monostate>(dx)) parts_[node.inputs()[i]].push_back(dx);
    }
  }

  // A variable's value has the gradient of its handle, and no addition happens on the way: rows
  // stay rows up to the optimizer, which has a rule of its own for them.
  void PassOn(Node& node) {
    const auto found = parts_.find(node.output(0));
    if (found == parts_.end()) return;
    std::vector<Gradient>& to = parts_[node.input(0)];
    to.insert(to.end(), found->second.begin(), found->second.end());
  }

  Value y_;
  std::span<const Value> xs_;
  std::vector<char> carries_;
  Recomputer recomputer_;
  std::map<Value, std::vector<Gradient>> parts_;
};

}  // namespace

void NoGradient(GradContext& /*context*/) {}

std::vector<Gradient> Gradients(Value y, std::span<const Value> xs, Value dy,
                                const Recompute& recompute) {
  const NameScope scope(y.graph(), "gradients");
  return Backward(y, xs, recompute).Run(dy);
}

Value ToDense(const Gradient& gradient) { return Dense(gradient); }

}  // namespace tpuest
