#include "cli/prepare/migrate/columns/crosses.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "cli/prepare/migrate/graph/nodes.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kBucketized = "_bucketized";
constexpr int64_t kStringType = 7;  // tensorflow.DataType

enum class LeafKind { kFeature, kBucketized, kColumn };

// One input of a cross: how it is made, and the iterator's output that it is made of; -1: unknown.
struct Leaf {
  LeafKind kind = LeafKind::kFeature;
  bool is_number = false;
  int64_t output = -1;
  const SeenNode* bucketize = nullptr;
  std::string tensor;  // of that output
};

// The input that holds what a node hands on, changed or not: the keys of a look-up, the ids where
// others get a default or a bucket.
size_t ValueInputOf(const SeenGraph& graph, const SeenNode& node) {
  if (node.op.starts_with("LookupTableFind")) return 1;
  if (!node.op.starts_with("Select") || node.inputs.size() < 3) return 0;
  const SeenNode* const first = graph.Find(node.inputs[1]);
  return first != nullptr && first->op == "Fill" ? 2 : 1;
}

bool PassesOn(const SeenNode& node) {
  static const std::set<std::string_view> kOps = {
      "Add",        "AddV2",    "Bucketize",        "Cast",    "DeserializeSparse",
      "ExpandDims", "GatherNd", "Identity",         "Reshape", "Select",
      "SelectV2",   "Squeeze",  "LookupTableFindV2"};
  return kOps.contains(node.op) && !node.inputs.empty();
}

Leaf LeafAt(const SeenGraph& graph, std::string tensor) {
  Leaf leaf;
  constexpr int kMostSteps = 32;  // a damaged graph may go in circles
  for (int i = 0; i < kMostSteps; ++i) {
    const SeenNode* const node = graph.Find(tensor);
    if (node == nullptr) return leaf;
    if (node->op.starts_with("IteratorGetNext")) {
      leaf.output = static_cast<int64_t>(OutputOf(tensor));
      leaf.tensor = tensor;
    }
    if (!PassesOn(*node)) return leaf;
    if (node->op == "Bucketize") {
      leaf.kind = LeafKind::kBucketized;
      leaf.bucketize = node;
    }
    // A dense feature is made sparse for a column; for a cross it stays as it is.
    const bool is_column = node->op == "GatherNd" || node->op == "LookupTableFindV2";
    if (is_column && leaf.kind == LeafKind::kFeature) leaf.kind = LeafKind::kColumn;
    const size_t input = ValueInputOf(graph, *node);
    if (input >= node->inputs.size()) return leaf;
    tensor = node->inputs[input];
  }
  return leaf;
}

// Values are the second third of the sparse inputs; the dense ones come after all of them.
std::vector<Leaf> LeavesOf(const SeenGraph& graph, const SeenNode& cross) {
  const auto types = [&](const char* key) {
    const auto found = cross.int_lists.find(key);
    return found == cross.int_lists.end() ? std::vector<int64_t>() : found->second;
  };
  std::vector<Leaf> leaves;
  const std::vector<int64_t> sparse = types("sparse_types");
  const std::vector<int64_t> dense = types("dense_types");
  const auto add = [&](size_t input, int64_t type) {
    if (input >= cross.inputs.size()) return;
    leaves.push_back(LeafAt(graph, cross.inputs[input]));
    leaves.back().is_number = type != kStringType;
  };
  for (size_t i = 0; i < sparse.size(); ++i) add(sparse.size() + i, sparse[i]);
  for (size_t i = 0; i < dense.size(); ++i) add(3 * sparse.size() + i, dense[i]);
  return leaves;
}

std::vector<std::string> NamesIn(const std::string& name) {
  std::vector<std::string> names;
  std::string rest = name;
  for (size_t at = rest.find("_X_"); at != std::string::npos; at = rest.find("_X_")) {
    names.push_back(rest.substr(0, at));
    rest = rest.substr(at + 3);
  }
  names.push_back(rest);
  return names;
}

std::string_view FeatureOf(std::string_view name) {
  if (name.ends_with(kBucketized)) name.remove_suffix(kBucketized.size());
  return name;
}

// The leaves' order as that of their features' names; nothing where outputs are not known.
std::vector<size_t> ByOutput(const std::vector<Leaf>& leaves) {
  std::set<int64_t> outputs;
  for (const Leaf& leaf : leaves) outputs.insert(leaf.output);
  if (outputs.contains(-1) || outputs.size() < leaves.size()) return {};
  std::vector<size_t> order(leaves.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return leaves[a].output < leaves[b].output; });
  return order;
}

bool Fits(const Leaf& leaf, std::string_view name) {
  return (leaf.kind == LeafKind::kBucketized) == name.ends_with(kBucketized);
}

// Returns the leaves identified by kind, if only one is bucketized.
std::vector<size_t> ByKind(const std::vector<Leaf>& leaves, const std::vector<std::string>& names) {
  if (leaves.size() == 1) return {0};
  if (leaves.size() != 2 || Fits(leaves[0], names[0]) == Fits(leaves[1], names[0])) return {};
  return Fits(leaves[0], names[0]) ? std::vector<size_t>{0, 1} : std::vector<size_t>{1, 0};
}

}  // namespace

MigratedCross FindCross(const SeenGraph& graph, const SeenNode& cross, const std::string& name) {
  std::vector<std::string> names = NamesIn(name);
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return FeatureOf(a) < FeatureOf(b); });
  const std::vector<Leaf> leaves = LeavesOf(graph, cross);
  std::vector<size_t> order;
  if (leaves.size() == names.size()) order = ByOutput(leaves);
  if (leaves.size() == names.size() && order.empty()) order = ByKind(leaves, names);
  MigratedCross found;
  found.keys.resize(names.size());
  found.is_known = !order.empty();
  for (size_t i = 0; i < names.size(); ++i) {
    if (order.empty()) {
      found.keys[i].name = names[i];
      continue;
    }
    const Leaf& leaf = leaves[order[i]];
    found.is_known = found.is_known && Fits(leaf, names[i]);
    found.keys[order[i]] = {names[i], leaf.kind == LeafKind::kColumn, leaf.is_number,
                            leaf.bucketize, leaf.tensor};
  }
  return found;
}

}  // namespace tpuest::cli
