#include "cli/prepare/migrate/model/sequential.h"

#include <algorithm>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/model/layers.h"
#include "cli/prepare/migrate/model/loss.h"
#include "cli/prepare/migrate/model/loss_terms.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// Returns patterns of the trained variables, if tf.train's minimize(var_list=...) excluded others.
std::optional<MigratedLine> TrainableOf(const SeenGraph& graph, const BundleReader& variables) {
  const std::set<std::string> updated = UpdatedVariables(graph);
  std::vector<std::string> patterns;
  std::vector<std::string> frozen;
  for (const std::string& name : variables.Names()) {
    const std::string role = name.substr(name.rfind('/') + 1);
    const bool is_weight =
        role.ends_with("kernel") || role == "bias" || role == "gamma" || role == "beta";
    if (!is_weight) continue;
    if (updated.contains(name)) {
      patterns.push_back(config::StringText(name));
    } else {
      frozen.push_back(name);
    }
  }
  if (patterns.empty() || frozen.empty()) return std::nullopt;
  const bool normalizes = std::any_of(frozen.begin(), frozen.end(), [](const std::string& name) {
    return name.ends_with("/gamma") || name.ends_with("/beta");
  });
  return MigratedLine{
      fmt::format("trainable: [{}]", Join(patterns, ", ")),
      normalizes ? "here frozen normalizations run in inference mode: " + Join(frozen, ", ") : ""};
}

// The words of the classes: a network of layers looks nothing else up.
std::vector<std::string> LabelWords(const SeenGraph& graph, int64_t classes) {
  std::vector<std::string> words;
  for (const SeenNode& node : graph.nodes()) {
    const bool is_vocabulary =
        node.op == "Const" && node.value && node.value->dtype() == DType::kString &&
        node.value->elements() == classes && node.name.find("lookup") != std::string::npos;
    if (!is_vocabulary) continue;
    for (const std::string_view word : node.value->strings()) {
      words.push_back(config::StringText(word));
    }
    return words;
  }
  return words;
}

std::vector<std::string> LabelWords(const SeenGraph& graph, const MigratedLoss& loss,
                                    int64_t logits) {
  if (loss.kind == LossKind::kSoftmax) return LabelWords(graph, logits);
  const bool is_binary = loss.kind == LossKind::kSigmoid && logits == 1;
  return is_binary ? LabelWords(graph, 2) : std::vector<std::string>();
}

MigratedModel ModelOf(const SeenGraph& graph, const BundleReader& variables,
                      const MigratedLoss& loss, const MigratedLayers& layers) {
  MigratedModel model{.type = "Sequential"};
  model.lines.push_back({"layers:", Join(layers.unknown, "; ")});
  for (const std::string& layer : layers.layers) model.lines.push_back({"  - " + layer, ""});
  const std::vector<std::string> words = LabelWords(graph, loss, layers.width);
  model.labels_are_words = !words.empty();
  model.lines.push_back({"head: " + HeadText(loss, layers.width, words), Join(loss.unknown, "; ")});
  if (const auto trainable = TrainableOf(graph, variables)) model.lines.push_back(*trainable);
  if (layers.bfloat16) model.lines.push_back({"precision: bfloat16", ""});
  const LossTerms terms = FindLossTerms(graph, variables, loss);
  if (!terms.text.empty()) model.lines.push_back({terms.text, ""});
  for (const std::string& what : terms.unknown) model.lines.push_back({"", what});
  model.labels_are_classes = loss.kind != LossKind::kSquared;
  const bool has_vector = loss.kind == LossKind::kSquared || loss.kind == LossKind::kSigmoid;
  model.label_dimension = has_vector ? layers.width : 1;
  model.input = layers.input;
  model.logits = loss.node->inputs.at(loss.input);
  model.optimizer = FindTrainOptimizer(graph, variables, "");
  if (!model.optimizer) {
    model.optimizer = MigratedLine{"{type: GradientDescentOptimizer, learning_rate: 0.01}",
                                   "the optimizer: the graph has none of tf.train's"};
  }
  return model;
}

}  // namespace

MigratedSequential FindSequential(const SeenGraph& graph, const BundleReader& variables) {
  MigratedSequential found{.obstacle = "the graph has no loss of a head"};
  for (const MigratedLoss& loss : FindLosses(graph)) {
    const MigratedLayers layers = FindLayers(graph, variables, *loss.node, loss.input);
    if (layers.obstacle.empty() && layers.width > 0) {
      found.model = ModelOf(graph, variables, loss, layers);
      return found;
    }
    // The first of a loss's two sides is that of the predictions, as a rule.
    if (loss.input == 0) found.obstacle = layers.obstacle;
  }
  return found;
}

}  // namespace tpuest::cli
