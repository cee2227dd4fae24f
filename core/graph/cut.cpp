// The cut in four steps: what needs the device, what goes after it, what goes before it, and which
// values then cross.
//
// In: a graph, and what is wanted of it. Out: the program of each node, and the values that cross
// from one program to a later one.
//
//   words ─▶ StringToHashBucketFast ─┊─▶ ResourceGather ─▶ MatMul ─┊─▶ AsString
//   (fed)          host op           ┊    reads a variable         ┊    host op
//                  before            ┊           device            ┊     after
//                      before_to_device = {the ids}    device_to_after = {the product}
//
// A host op goes before the device unless something that it descends from reads state: AsString
// does, through the gather. Whatever a node before the device reads goes before it too; whatever
// reads a node after the device goes after it.
//
// What holds then:
//   - No value flows back: a node reads values of its own program or of an earlier one.
//   - Before the device no variable is read and no random number drawn, so that the input workers
//     may be any number of steps ahead. A graph where that would happen is refused.
//   - Host ops and strings are never on the device, nor is what reads a host op's result of a shape
//     that depends on data, as far as it can do without the device.
//   - Constants and feeds are in every program that reads them, and never cross; nor do handles.
//   - A size that the program after the device asks for is that of what crossed: the rows of all
//     replicas, not of one.

#include "core/graph/cut.h"

#include <algorithm>
#include <set>

namespace tpuest {
namespace {

// Variables and random numbers; a host op's state (a table, a file) is constant through a run.
bool ReadsState(const Node& node) { return node.op().stateful && !node.op().host; }

bool IsConstant(const Node& node) { return node.op().source == ValueSource::kConstant; }
bool IsFeed(const Node& node) { return node.op().source == ValueSource::kFeed; }

// True if something beside the number of rows is known only when the tensor is there.
bool DependsOnData(const Shape& shape) {
  if (!shape.known_rank()) return true;
  const auto& dims = shape.dims();
  return std::any_of(dims.begin() + (dims.empty() ? 0 : 1), dims.end(),
                     [](int64_t dim) { return dim == kUnknownDim; });
}

// Marks host ops, and nodes that read results of theirs whose shape depends on data, because the
// device supports neither. Nodes are in topological order, so one pass carries the mark down a
// chain.
std::vector<char> StaysOnHost(const Graph& graph, const std::vector<char>& needs_device) {
  std::vector<char> stays(graph.nodes().size(), 0);
  for (const auto& node : graph.nodes()) {
    const auto id = static_cast<size_t>(node->id());
    stays[id] = static_cast<char>(RunsOnHost(*node));
    for (const Value& input : node->inputs()) {
      const bool reads_host = stays[static_cast<size_t>(input.node->id())] != 0;
      if (reads_host && !needs_device[id] && DependsOnData(input.shape())) stays[id] = 1;
    }
  }
  return stays;
}

// Marks nodes that depend only on constants and on shapes of other values: the program after the
// device can compute them itself.
std::vector<char> FollowsFromShapes(const Graph& graph) {
  std::vector<char> follows(graph.nodes().size(), 0);
  for (const auto& node : graph.nodes()) {
    const bool all = std::all_of(
        node->inputs().begin(), node->inputs().end(),
        [&](const Value& input) { return follows[static_cast<size_t>(input.node->id())] != 0; });
    const bool pure = !node->op().stateful && !node->op().host && !node->inputs().empty();
    follows[static_cast<size_t>(node->id())] =
        static_cast<char>(IsConstant(*node) || node->op().of_shape != nullptr || (pure && all));
  }
  return follows;
}

}  // namespace

bool RunsOnHost(const Node& node) {
  if (node.op().host) return true;
  if (IsConstant(node) || IsFeed(node)) return false;
  for (int i = 0; i < node.outputs(); ++i) {
    if (node.output_dtype(i) == DType::kString) return true;
  }
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value& input) { return input.dtype() == DType::kString; });
}

std::vector<char> NeededNodes(const Graph& graph, const std::vector<Value>& fetches,
                              const std::vector<Node*>& targets, const std::vector<Value>& fed) {
  std::vector<char> needed(graph.nodes().size(), 0);
  std::vector<const Node*> open;
  const auto need = [&](const Node* node) {
    char& mark = needed[static_cast<size_t>(node->id())];
    if (mark == 0) open.push_back(node);
    mark = 1;
  };
  std::vector<Value> stops = fed;
  std::sort(stops.begin(), stops.end());
  const auto need_value = [&](const Value& value) {
    if (!std::binary_search(stops.begin(), stops.end(), value)) need(value.node);
  };
  std::for_each(fetches.begin(), fetches.end(), need_value);
  std::for_each(targets.begin(), targets.end(), need);
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    std::for_each(node->inputs().begin(), node->inputs().end(), need_value);
    std::for_each(node->control_inputs().begin(), node->control_inputs().end(), need);
  }
  return needed;
}

namespace {

// One graph's cut in the making; marks are by node id.
class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Node*>& targets)
      : graph_(graph),
        fetches_(fetches),
        needed_(NeededNodes(graph, fetches, targets, {})),
        follows_from_shapes_(FollowsFromShapes(graph)),
        needs_device_(graph.nodes().size(), 0) {
    cut_.parts.assign(graph.nodes().size(), Part::kDevice);
  }

  GraphCut Run() {
    FindWhatNeedsTheDevice();
    PlaceAfter();
    PlaceBefore();
    FindCrossings();
    return std::move(cut_);
  }

 private:
  static size_t Id(const Node& node) { return static_cast<size_t>(node.id()); }
  Part& PartOf(const Node& node) { return cut_.parts[Id(node)]; }

  // A node needs the device if it reads state, is in an AfterScope, or reads such a node. Constants
  // and feeds exist without it.
  void FindWhatNeedsTheDevice() {
    for (const auto& node : graph_.nodes()) {
      bool needs = ReadsState(*node) || node->after();
      for (const Value& input : node->inputs()) needs |= needs_device_[Id(*input.node)] != 0;
      needs_device_[Id(*node)] = static_cast<char>(needs && !IsConstant(*node) && !IsFeed(*node));
    }
  }

  // After go nodes of an AfterScope, host ops that need the device, and what reads either.
  void PlaceAfter() {
    for (const auto& node : graph_.nodes()) {
      bool after = node->after() || (RunsOnHost(*node) && needs_device_[Id(*node)]);
      for (const Value& input : node->inputs()) after |= PartOf(*input.node) == Part::kAfter;
      if (after && !IsConstant(*node)) PartOf(*node) = Part::kAfter;
    }
  }

  // Host ops that are not in *after*, and everything they depend on, go into *before*: nodes come
  // after those that they read, so the walk goes from the last node to the first.
  void PlaceBefore() {
    const std::vector<char> stays = StaysOnHost(graph_, needs_device_);
    for (size_t id = graph_.nodes().size(); id-- > 0;) {
      const Node& node = *graph_.nodes()[id];
      if (!needed_[id] || PartOf(node) == Part::kAfter) continue;
      if (stays[id]) PartOf(node) = Part::kBefore;
      if (PartOf(node) == Part::kBefore) PlaceInputsBefore(node);
    }
  }

  void PlaceInputsBefore(const Node& node) {
    for (const Value& input : node.inputs()) {
      const Node& source = *input.node;
      if (ReadsState(source)) {
        throw Error(Code::kUsage,
                    fmt::format("{} '{}' runs before the step, in the input workers, but depends "
                                "on {} '{}'",
                                node.type(), node.name(), source.type(), source.name()))
            .At(node.origin());
      }
      if (!IsConstant(source)) PartOf(source) = Part::kBefore;
    }
  }

  // Handles of variables never cross: each program has its own VarHandleOp. A fetch that is
  // computed before crosses as if the device read it, so that one place gathers all fetches.
  void FindCrossings() {
    for (const auto& node : graph_.nodes()) {
      if (!needed_[Id(*node)]) continue;
      const Part here = PartOf(*node);
      for (const Value& input : node->inputs()) {
        const Part there = PartOf(*input.node);
        if (there == here || input.dtype() == DType::kResource) continue;
        if (there == Part::kBefore) Cross(cut_.before_to_device, input);
        if (there == Part::kDevice && here == Part::kAfter) CrossToAfter(input);
      }
    }
    for (const Value& fetch : fetches_) {
      if (PartOf(*fetch.node) == Part::kBefore) Cross(cut_.before_to_device, fetch);
    }
  }

  // Constants and what is fed are wherever they are read: they never cross.
  static void Cross(std::vector<Value>& list, const Value& value) {
    if (IsConstant(*value.node) || IsFeed(*value.node)) return;
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  }

  // *after* recomputes a value that follows from shapes, because its shapes are those of the whole
  // batch; the values from which it is computed cross instead.
  void CrossToAfter(const Value& value) {
    std::vector<Value> open = {value};
    std::set<Value> seen;
    while (!open.empty()) {
      const Value next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      if (follows_from_shapes_[Id(*next.node)]) {
        open.insert(open.end(), next.node->inputs().begin(), next.node->inputs().end());
      } else {
        Cross(cut_.device_to_after, next);
      }
    }
  }

  const Graph& graph_;
  const std::vector<Value>& fetches_;
  const std::vector<char> needed_;
  const std::vector<char> follows_from_shapes_;
  std::vector<char> needs_device_;
  GraphCut cut_;
};

}  // namespace

GraphCut CutGraph(const Graph& graph, const std::vector<Value>& fetches,
                  const std::vector<Node*>& targets) {
  return Cutter(graph, fetches, targets).Run();
}

}  // namespace tpuest
