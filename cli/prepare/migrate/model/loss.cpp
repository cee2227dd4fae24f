#include "cli/prepare/migrate/model/loss.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

bool IsOfForward(const SeenNode& node) { return node.name.find("gradients") == std::string::npos; }

bool IsDivision(const SeenNode& node) {
  return node.op == "DivNoNan" || node.op == "RealDiv" || node.op == "Div" ||
         node.op == "TruncateDiv";
}

// True if a variable is among all that the tensor is made of.
bool LeadsToVariable(const SeenGraph& graph, const std::string& tensor) {
  std::set<const SeenNode*> seen;
  std::vector<const SeenNode*> open = {graph.Find(tensor)};
  while (!open.empty()) {
    const SeenNode* const node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (node->op == "VarHandleOp" || node->op.starts_with("Variable")) return true;
    for (const std::string& input : node->inputs) {
      if (!input.starts_with('^')) open.push_back(graph.Find(input));
    }
  }
  return false;
}

class LossFinder {
 public:
  explicit LossFinder(const SeenGraph& graph) : graph_(graph) {}

  std::vector<MigratedLoss> Run() {
    for (const SeenNode& node : graph_.nodes()) {
      if (!IsOfForward(node)) continue;
      if (node.op == "SparseSoftmaxCrossEntropyWithLogits") AddLoss(LossKind::kSoftmax, node, 0);
      if (node.op == "SoftmaxCrossEntropyWithLogits") AddOneHot(node);
      if (node.op == "Log1p") AddSigmoid(node);
    }
    for (const SeenNode& node : graph_.nodes()) {
      const bool is_loss = node.op == "SquaredDifference" && IsOfForward(node) &&
                           node.name.find("moments/") == std::string::npos;
      if (!is_loss) continue;
      AddLoss(LossKind::kSquared, node, 0);
      AddLoss(LossKind::kSquared, node, 1);  // predictions may be on either side
    }
    return std::move(found_);
  }

 private:
  MigratedLoss& AddLoss(LossKind kind, const SeenNode& node, size_t input) {
    found_.push_back({.kind = kind, .node = &node, .input = input, .is_sum = IsSummed(node)});
    if (const auto factor = FactorOf(node)) found_.back().unknown.push_back(*factor);
    return found_.back();
  }

  // Labels that are numbers of classes are made one-hot, and may be smoothed: times 1 - smoothing,
  // plus a share.
  void AddOneHot(const SeenNode& node) {
    MigratedLoss& loss = AddLoss(LossKind::kSoftmax, node, 0);
    const SeenNode* labels = SourceAt(graph_, node, 1);
    constexpr int kMostSteps = 6;
    for (int i = 0; i < kMostSteps && labels != nullptr; ++i) {
      if (labels->op == "OneHot") {
        const double on = ScalarAt(graph_, *labels, 2).value_or(1);
        const double off = ScalarAt(graph_, *labels, 3).value_or(0);
        if (off != 0) loss.label_smoothing = Smoothing(on - off);
        return;
      }
      const bool is_share = labels->op == "AddV2" || labels->op == "Add";
      const auto kept = labels->op == "Mul" ? ScalarAt(graph_, *labels, 1) : std::nullopt;
      if (kept) loss.label_smoothing = Smoothing(*kept);
      if (!is_share && !kept && labels->op != "Reshape" && labels->op != "Cast") break;
      labels = SourceAt(graph_, *labels, 0);
    }
    loss.label_smoothing = 0;
    loss.unknown.emplace_back(
        "labels: the old run takes one-hot vectors, this job takes class numbers");
  }

  // Looks for log1p(exp(-|x|)), where |x| is made by choices by the sign of x.
  void AddSigmoid(const SeenNode& node) {
    const SeenNode* const exp = SourceAt(graph_, node, 0);
    const SeenNode* const choice =
        exp != nullptr && exp->op == "Exp" ? SourceAt(graph_, *exp, 0) : nullptr;
    if (choice == nullptr || !IsOp(*choice, "Select")) return;
    const SeenNode* const negative = SourceAt(graph_, *choice, 1);
    if (negative == nullptr || negative->op != "Neg") return;
    MigratedLoss& loss = AddLoss(LossKind::kSigmoid, *negative, 0);
    loss.is_sum = IsSummed(node);
    loss.unknown.clear();
    if (const auto factor = FactorOf(node)) loss.unknown.push_back(*factor);
  }

  // The label smoothing: the graph has 1 - smoothing, in float32.
  [[nodiscard]] static double Smoothing(double kept) { return std::round((1 - kept) * 1e6) / 1e6; }

  [[nodiscard]] std::vector<const SeenNode*> ConsumersOf(const SeenNode& of) const {
    std::vector<const SeenNode*> consumers;
    for (const SeenNode& node : graph_.nodes()) {
      const bool takes =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
            return std::string_view(input).substr(0, input.find(':')) == of.name;
          });
      if (takes && IsOfForward(node)) consumers.push_back(&node);
    }
    return consumers;
  }

  // Says what the losses, or their sum or mean, are multiplied by: weights of the examples or of
  // the loss. A one changes nothing, and a TPU's replicas take a share each.
  [[nodiscard]] std::optional<std::string> FactorOf(const SeenNode& losses) const {
    std::set<const SeenNode*> seen = {&losses};
    std::vector<const SeenNode*> now = {&losses};
    constexpr int kMostSteps = 20;
    for (int i = 0; i < kMostSteps && !now.empty(); ++i) {
      std::vector<const SeenNode*> next;
      for (const SeenNode* const node : now) {
        for (const SeenNode* const consumer : ConsumersOf(*node)) {
          if (!seen.insert(consumer).second) continue;
          if (consumer->op == "Mul") {
            if (auto factor = FactorIn(*consumer, node->name)) return factor;
          }
          // Numbers that count the losses, and what is only shown, are not the loss any more.
          const bool is_loss = consumer->op == "Mul" || consumer->op == "Sum" ||
                               consumer->op == "Mean" || IsDivision(*consumer) ||
                               IsSum(*consumer) || consumer->op == "Identity" ||
                               consumer->op == "Reshape" || consumer->op == "Squeeze" ||
                               consumer->op == "Neg" || consumer->op == "Cast";
          if (is_loss) next.push_back(consumer);
        }
      }
      now = std::move(next);
    }
    return std::nullopt;
  }

  // `from` is the input that holds the losses.
  [[nodiscard]] std::optional<std::string> FactorIn(const SeenNode& product,
                                                    std::string_view from) const {
    if (product.inputs.size() < 2) return std::nullopt;
    const std::string& first = product.inputs[0];
    const size_t other = std::string_view(first).substr(0, first.find(':')) == from ? 1 : 0;
    const auto number = ScalarAt(graph_, product, other);
    const bool is_share = number && !graph_.Below("", "CrossReplicaSum").empty() && *number < 1 &&
                          std::round(1 / *number) == 1 / *number;
    if (number && (*number == 1 || is_share)) return std::nullopt;
    if (number) {
      return fmt::format("the loss is {} times the loss of a head ({})",
                         NumberText(static_cast<float>(*number)), Described(&product));
    }
    return fmt::format("the loss has weights of examples: add weight_column ({})",
                       Described(&product));
  }

  // Returns true if the first Sum or Mean after the losses is a Sum that is not divided afterwards.
  [[nodiscard]] bool IsSummed(const SeenNode& losses) const {
    std::vector<const SeenNode*> now = {&losses};
    constexpr int kMostSteps = 8;
    for (int i = 0; i < kMostSteps && !now.empty(); ++i) {
      std::vector<const SeenNode*> next;
      for (const SeenNode* const node : now) {
        for (const SeenNode* const consumer : ConsumersOf(*node)) {
          if (consumer->op == "Mean") return false;
          if (consumer->op == "Sum") return !IsDivided(*consumer);
          next.push_back(consumer);
        }
      }
      now = std::move(next);
    }
    return false;
  }

  [[nodiscard]] bool IsDivided(const SeenNode& sum) const {
    const std::string scope = ScopeOf(sum.name);
    for (const SeenNode* const consumer : ConsumersOf(sum)) {
      if (ScopeOf(consumer->name) != scope) continue;
      if (IsDivision(*consumer)) return true;
      if (consumer->op == "Sum" && IsDivided(*consumer)) return true;  // the mean of the one sum
    }
    return false;
  }

  const SeenGraph& graph_;
  std::vector<MigratedLoss> found_;
};

}  // namespace

std::vector<MigratedLoss> FindLosses(const SeenGraph& graph) { return LossFinder(graph).Run(); }

std::string HeadLogits(const SeenGraph& graph) {
  for (const MigratedLoss& loss : FindLosses(graph)) {
    const std::string& name = loss.node->name;
    const bool is_of_head = name.starts_with("head/") || name.find("/head/") != std::string::npos;
    if (!is_of_head || loss.input >= loss.node->inputs.size()) continue;
    const std::string& tensor = loss.node->inputs[loss.input];
    if (LeadsToVariable(graph, tensor)) return tensor;
  }
  return "";
}

std::string HeadText(const MigratedLoss& loss, int64_t logits,
                     const std::vector<std::string>& words) {
  std::string text;
  switch (loss.kind) {
    case LossKind::kSoftmax:
      text = fmt::format("type: MultiClassHead, n_classes: {}", logits);
      break;
    case LossKind::kSigmoid:
      text = logits == 1 ? "type: BinaryClassHead"
                         : fmt::format("type: MultiLabelHead, n_classes: {}", logits);
      break;
    case LossKind::kSquared:
      text = "type: RegressionHead";
      if (logits != 1) text += fmt::format(", label_dimension: {}", logits);
      break;
  }
  if (!words.empty()) text += fmt::format(", label_vocabulary: [{}]", Join(words, ", "));
  if (loss.is_sum) text += ", loss_reduction: SUM";
  if (loss.label_smoothing != 0) {
    text += ", label_smoothing: " + NumberText(static_cast<float>(loss.label_smoothing));
  }
  return "{" + text + "}";
}

}  // namespace tpuest::cli
