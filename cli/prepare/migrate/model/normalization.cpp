#include "cli/prepare/migrate/model/normalization.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// True for an op that changes a variable as training does, which the train_op runs.
bool IsTraining(const SeenNode& node) {
  return node.op.find("Apply") != std::string::npos || node.op.starts_with("AssignAdd");
}

// The nodes that run after this one, or take what it gives.
std::set<const SeenNode*> After(const SeenGraph& graph, const SeenNode& first) {
  std::multimap<const SeenNode*, const SeenNode*> consumers;
  for (const SeenNode& node : graph.nodes()) {
    for (const std::string& input : node.inputs) {
      const SeenNode* const before = graph.Find(input.starts_with('^') ? input.substr(1) : input);
      if (before != nullptr) consumers.emplace(before, &node);
    }
  }
  std::set<const SeenNode*> seen;
  std::vector<const SeenNode*> now = {&first};
  while (!now.empty()) {
    const SeenNode* const node = now.back();
    now.pop_back();
    const auto [begin, end] = consumers.equal_range(node);
    for (auto each = begin; each != end; ++each) {
      if (seen.insert(each->second).second) now.push_back(each->second);
    }
  }
  return seen;
}

// True where the train_op runs the update: an update of a weight waits for it, or the group does
// that waits for both.
bool IsRun(const SeenGraph& graph, const SeenNode& update) {
  const std::set<const SeenNode*> after = After(graph, update);
  if (std::any_of(after.begin(), after.end(), [](const SeenNode* n) { return IsTraining(*n); })) {
    return true;
  }
  return std::any_of(after.begin(), after.end(), [&](const SeenNode* node) {
    return std::any_of(node->inputs.begin(), node->inputs.end(), [&](const std::string& input) {
      const SeenNode* const before = graph.Find(input.starts_with('^') ? input.substr(1) : input);
      return before != nullptr && IsTraining(*before);
    });
  });
}

// The parts of a normalization: the node and input that take x, and what x is multiplied by and
// what is added.
struct Parts {
  const SeenNode* first = nullptr;
  size_t input = 0;
  std::optional<std::string> gamma;
  std::optional<std::string> beta;
  std::optional<double> epsilon;
  bool infers = false;  // uses the moving averages also in training
};

// The node at an input, past a cast.
const SeenNode* Wide(const SeenGraph& graph, const SeenNode& node, size_t input) {
  const SeenNode* const at = SourceAt(graph, node, input);
  return at != nullptr && at->op == "Cast" ? SourceAt(graph, *at, 0) : at;
}

// Reads 1 / sqrt(variance + epsilon), or that times gamma.
bool TakeFactor(const SeenGraph& graph, const SeenNode* node, Parts& parts) {
  if (node == nullptr) return false;
  const SeenNode* root = node;
  if (node->op == "Mul") {
    root = Wide(graph, *node, 0);
    parts.gamma = VariableAt(graph, *node, 1);
  }
  if (root == nullptr || root->op != "Rsqrt") return false;
  const SeenNode* const sum = SourceAt(graph, *root, 0);
  if (sum == nullptr || !IsSum(*sum)) return false;
  parts.epsilon = ScalarAt(graph, *sum, 1);
  parts.infers = VariableAt(graph, *sum, 0).has_value();
  return true;
}

// Reads x * factor + (beta - mean * factor), as tf.nn.batch_normalization computes it.
std::optional<Parts> Composed(const SeenGraph& graph, const SeenNode& node) {
  const SeenNode* const product = SourceAt(graph, node, 0);
  const SeenNode* const offset = Wide(graph, node, 1);
  if (!IsSum(node) || product == nullptr || product->op != "Mul" || offset == nullptr) {
    return std::nullopt;
  }
  Parts parts{.first = product};
  if (!TakeFactor(graph, Wide(graph, *product, 1), parts)) return std::nullopt;
  if (offset->op == "Sub") parts.beta = VariableAt(graph, *offset, 0);
  return parts;
}

std::optional<Parts> Fused(const SeenGraph& graph, const SeenNode& node) {
  if (!IsOp(node, "FusedBatchNorm")) return std::nullopt;
  Parts parts{
      .first = &node, .gamma = VariableAt(graph, node, 1), .beta = VariableAt(graph, node, 2)};
  const auto epsilon = node.floats.find("epsilon");
  if (epsilon != node.floats.end()) parts.epsilon = epsilon->second[0];
  const auto training = node.ints.find("is_training");
  parts.infers = training != node.ints.end() && training->second == 0;
  return parts;
}

// The momentum of the update moving -= (moving - batch) * (1 - momentum).
std::optional<double> MomentumOf(const SeenGraph& graph, const std::string& moving) {
  for (const SeenNode& node : graph.nodes()) {
    const bool is_update = node.op == "AssignSubVariableOp" || node.op == "AssignSub";
    if (!is_update || VariableAt(graph, node, 0) != moving) continue;
    const SeenNode* const product = SourceAt(graph, node, 1);
    if (product == nullptr || product->op != "Mul") continue;
    // Averages that never move are those of a momentum of 1.
    if (!IsRun(graph, node)) return 1;
    for (const size_t input : {1, 0}) {
      if (const auto share = ScalarAt(graph, *product, input)) return 1 - *share;
    }
  }
  return std::nullopt;
}

// The index of the layer's input among two factors: it is the one that is no number.
size_t InputOfScaled(const SeenGraph& graph, const SeenNode& node) {
  return ScalarAt(graph, node, 0) ? 1 : 0;
}

bool IsRandom(const SeenGraph& graph, const SeenNode* node, int left = 3) {
  if (node == nullptr) return false;
  if (node->op == "RandomUniform" || node->op == "StatelessRandomUniformV2") return true;
  if (left == 0 || (!IsSum(*node) && node->op != "Mul")) return false;
  return IsRandom(graph, SourceAt(graph, *node, 0), left - 1) ||
         IsRandom(graph, SourceAt(graph, *node, 1), left - 1);
}

// The mask: random >= rate, or the floor of what is kept and random.
struct Mask {
  std::optional<double> rate;
};
std::optional<Mask> MaskOf(const SeenGraph& graph, const SeenNode* node) {
  if (node != nullptr && node->op == "Cast") node = SourceAt(graph, *node, 0);
  if (node == nullptr) return std::nullopt;
  if (node->op == "GreaterEqual" && IsRandom(graph, SourceAt(graph, *node, 0))) {
    return Mask{ScalarAt(graph, *node, 1)};
  }
  const SeenNode* const sum = node->op == "Floor" ? SourceAt(graph, *node, 0) : nullptr;
  if (sum == nullptr || !IsSum(*sum) || !IsRandom(graph, SourceAt(graph, *sum, 1))) {
    return std::nullopt;
  }
  const auto kept = ScalarAt(graph, *sum, 0);
  return Mask{kept ? std::optional(1 - *kept) : std::nullopt};
}

// The layer's name: "dropout" of "dropout/dropout/SelectV2", which tf.layers makes, and of
// "dropout/SelectV2".
std::string DropoutLayer(const SeenNode& node) {
  constexpr std::string_view kOwn = "/dropout";
  std::string scope = ScopeOf(node.name);
  if (scope.ends_with(kOwn)) scope.resize(scope.size() - kOwn.size());
  return scope.empty() ? "dropout" : scope;
}

}  // namespace

std::optional<MigratedNormalization> FindNormalization(const SeenGraph& graph,
                                                       const SeenNode& node) {
  std::optional<Parts> parts = Fused(graph, node);
  if (!parts) parts = Composed(graph, node);
  if (!parts) return std::nullopt;
  MigratedNormalization found{.first = parts->first, .input = parts->input};
  const std::string& variable = parts->gamma ? *parts->gamma : parts->beta.value_or(node.name);
  const std::string layer = ScopeOf(variable);
  const auto is_called = [&](const std::optional<std::string>& name, const char* role) {
    return !name || *name == fmt::format("{}/{}", layer, role);
  };
  if (!is_called(parts->gamma, "gamma") || !is_called(parts->beta, "beta")) {
    found.obstacle =
        fmt::format("{} uses the variable \"{}\", which a layer would call <layer>/gamma",
                    Described(&node), variable);
    return found;
  }
  const auto momentum = MomentumOf(graph, layer + "/moving_mean");
  if (parts->infers) {
    found.unknown = fmt::format(
        "{} uses its moving averages in training (training=False); here `trainable: false` does "
        "this, but also freezes its variables",
        layer);
  } else if (!momentum) {
    found.unknown = "the momentum of " + layer;
  }
  const auto number = [](const char* key, double value, double standard) {
    const auto rounded = static_cast<float>(value);
    if (rounded == static_cast<float>(standard)) return std::string();
    return fmt::format(", {}: {}", key, NumberText(rounded));
  };
  found.text = fmt::format("{{type: batch_normalization{}{}{}{}, name: {}}}",
                           number("momentum", momentum.value_or(0.99), 0.99),
                           number("epsilon", parts->epsilon.value_or(0.001), 0.001),
                           parts->beta ? "" : ", center: false",
                           parts->gamma ? "" : ", scale: false", config::StringText(layer));
  return found;
}

std::optional<MigratedDropout> FindDropout(const SeenGraph& graph, const SeenNode& node) {
  const bool chooses = node.op == "SelectV2" || node.op == "Select";
  if (!chooses && node.op != "Mul") return std::nullopt;
  for (const size_t at : {0, 1}) {
    if (chooses && at == 1) break;
    const auto mask = MaskOf(graph, SourceAt(graph, node, at));
    const SeenNode* const scaled = SourceAt(graph, node, 1 - at);
    if (!mask || scaled == nullptr || (scaled->op != "Mul" && scaled->op != "RealDiv")) continue;
    return MigratedDropout{.layer = DropoutLayer(node),
                           .rate = mask->rate,
                           .first = scaled,
                           .input = InputOfScaled(graph, *scaled)};
  }
  return std::nullopt;
}

}  // namespace tpuest::cli
