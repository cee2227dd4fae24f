#include "core/graph/cut.h"

#include <algorithm>
#include <set>

namespace tpuest {
namespace {

bool ReadsState(const Node& node) { return node.op().stateful && !node.op().host; }

bool IsConstant(const Node& node) { return node.op().source == ValueSource::kConstant; }
bool IsFeed(const Node& node) { return node.op().source == ValueSource::kFeed; }

// Something beside the number of rows is known only when it is there.
bool DependsOnData(const Shape& shape) {
  if (!shape.known_rank()) return true;
  const auto& dims = shape.dims();
  return std::any_of(dims.begin() + (dims.empty() ? 0 : 1), dims.end(),
                     [](int64_t dim) { return dim == kUnknownDim; });
}

// Host ops, and what reads results of theirs whose shape depends on data: the device meets none.
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

// Nodes that follow from constants and from the shapes of others alone.
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
  const auto need_value = [&](const Value& value) {
    if (std::find(fed.begin(), fed.end(), value) == fed.end()) need(value.node);
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

GraphCut CutGraph(const Graph& graph, const std::vector<Value>& fetches,
                  const std::vector<Node*>& targets) {
  const size_t n = graph.nodes().size();
  GraphCut cut;
  cut.parts.assign(n, Part::kDevice);
  const std::vector<char> needed = NeededNodes(graph, fetches, targets, {});

  // Whatever descends from a device node other than a constant or a fed value needs the device.
  std::vector<char> needs_device(n, 0);
  for (const auto& node : graph.nodes()) {
    const auto id = static_cast<size_t>(node->id());
    const bool feeds = IsConstant(*node) || IsFeed(*node);
    bool from_device = ReadsState(*node) || node->after();
    for (const Value& input : node->inputs()) {
      from_device |= needs_device[static_cast<size_t>(input.node->id())] != 0;
    }
    needs_device[id] = static_cast<char>(from_device && !feeds);
  }
  // Host ops go before the device unless they need it; what follows an after node is after.
  for (const auto& node : graph.nodes()) {
    const auto id = static_cast<size_t>(node->id());
    bool after = node->after() || (RunsOnHost(*node) && needs_device[id]);
    for (const Value& input : node->inputs()) {
      after |= cut.PartOf(*input.node) == Part::kAfter;
    }
    if (after && !IsConstant(*node)) cut.parts[id] = Part::kAfter;
  }
  // Host ops that are not after, and all that they depend on, are before.
  const std::vector<char> stays = StaysOnHost(graph, needs_device);
  for (size_t id = n; id-- > 0;) {
    const Node& node = *graph.nodes()[id];
    if (!needed[id] || cut.parts[id] == Part::kAfter) continue;
    if (stays[id]) cut.parts[id] = Part::kBefore;
    if (cut.parts[id] != Part::kBefore) continue;
    for (const Value& input : node.inputs()) {
      const Node& source = *input.node;
      if (ReadsState(source)) {
        throw Error(Code::kUsage,
                    fmt::format("{} '{}' runs before the step, in the input workers, but depends "
                                "on {} '{}'",
                                node.type(), node.name(), source.type(), source.name()))
            .At(node.origin());
      }
      if (!IsConstant(source)) cut.parts[static_cast<size_t>(source.id())] = Part::kBefore;
    }
  }
  // A placeholder is fed wherever it is read; it never crosses.
  const auto crosses = [&](std::vector<Value>& list, const Value& value) {
    if (IsConstant(*value.node) || IsFeed(*value.node)) return;
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  };
  // Shapes are known on both sides of what crosses; there they are those of the whole batch.
  const std::vector<char> follows = FollowsFromShapes(graph);
  const auto to_after = [&](const Value& value) {
    std::vector<Value> open = {value};
    std::set<Value> seen;
    while (!open.empty()) {
      const Value next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      const bool recomputed = follows[static_cast<size_t>(next.node->id())] != 0;
      if (!recomputed) crosses(cut.device_to_after, next);
      if (recomputed)
        open.insert(open.end(), next.node->inputs().begin(), next.node->inputs().end());
    }
  };
  for (const auto& node : graph.nodes()) {
    if (!needed[static_cast<size_t>(node->id())]) continue;
    const Part here = cut.PartOf(*node);
    for (const Value& input : node->inputs()) {
      const Part there = cut.PartOf(*input.node);
      if (there == here || input.dtype() == DType::kResource) continue;
      if (there == Part::kBefore) crosses(cut.before_to_device, input);
      if (there == Part::kDevice && here == Part::kAfter) to_after(input);
    }
  }
  for (const Value& fetch : fetches) {
    if (cut.PartOf(*fetch.node) == Part::kBefore) crosses(cut.before_to_device, fetch);
  }
  return cut;
}

}  // namespace tpuest
