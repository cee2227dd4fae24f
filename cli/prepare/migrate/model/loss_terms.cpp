#include "cli/prepare/migrate/model/loss_terms.h"

#include <map>
#include <optional>
#include <set>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr int kDeepest = 40;  // a damaged graph may go in circles

bool IsRealDivision(const SeenNode& node) { return node.op == "RealDiv" || node.op == "Div"; }

class TermFinder {
 public:
  TermFinder(const SeenGraph& graph, const BundleReader& variables, const MigratedLoss& loss)
      : graph_(graph), variables_(variables), loss_(loss) {}

  LossTerms Run() {
    const SeenNode* const whole = Whole();
    if (whole == nullptr || !HasLoss(whole)) {
      MarkPenalties();
    } else {
      Walk(whole, kDeepest);
      WritePenalties();
    }
    return std::move(found_);
  }

 private:
  // The loss that an Estimator shows: the summary of the tag loss.
  [[nodiscard]] const SeenNode* Whole() const {
    for (const SeenNode& node : graph_.nodes()) {
      const auto tag = node.op == "ScalarSummary" ? graph_.ConstantAt(node, 0) : std::nullopt;
      const bool is_loss = tag && tag->dtype() == DType::kString && tag->elements() == 1 &&
                           tag->strings()[0] == "loss";
      if (is_loss) return SourceAt(graph_, node, 1);
    }
    return nullptr;
  }

  // True if the head's loss is among all that the node is made of.
  [[nodiscard]] bool HasLoss(const SeenNode* from) const {
    std::set<const SeenNode*> seen;
    std::vector<const SeenNode*> open = {from};
    while (!open.empty()) {
      const SeenNode* const node = open.back();
      open.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      if (node == loss_.node) return true;
      for (const std::string& input : node->inputs) {
        if (!input.starts_with('^')) open.push_back(graph_.Find(input));
      }
    }
    return false;
  }

  [[nodiscard]] static bool Adds(const SeenNode& node) { return IsSum(node) || node.op == "AddN"; }

  // Goes from the whole loss to the head's, and takes what is added on the way.
  void Walk(const SeenNode* node, int left) {
    while (node != nullptr && left-- > 0 && node != loss_.node) {
      const SeenNode* next = nullptr;
      std::vector<const SeenNode*> others;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (node->inputs[i].starts_with('^')) continue;
        const SeenNode* const source = SourceAt(graph_, *node, i);
        if (next == nullptr && HasLoss(source)) {
          next = source;
        } else {
          others.push_back(source);
        }
      }
      if (Adds(*node) && !IsOfLoss(*node)) {
        for (const SeenNode* const other : others) Term(other, 1, kDeepest);
      }
      node = next;
    }
  }

  // The losses' own parts are not terms: a cross entropy by sigmoid is a sum.
  [[nodiscard]] bool IsOfLoss(const SeenNode& node) const {
    const std::string scope = ScopeOf(loss_.node->name);
    return !scope.empty() && ScopeOf(node.name) == scope;
  }

  void Term(const SeenNode* node, double scale, int left) {
    if (node == nullptr || left == 0) return Miss(node);
    if (node->op == "Const" && node->value && node->value->elements() == 1) {
      return;  // it moves the loss, and no gradient
    }
    if (Adds(*node)) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (!node->inputs[i].starts_with('^')) Term(SourceAt(graph_, *node, i), scale, left - 1);
      }
      return;
    }
    for (const size_t other : {0, 1}) {
      const bool scales = node->op == "Mul" || (IsRealDivision(*node) && other == 1);
      const auto number = scales ? ScalarAt(graph_, *node, other) : std::nullopt;
      if (!number) continue;
      const double factor = node->op == "Mul" ? *number : 1 / *number;
      return Term(SourceAt(graph_, *node, 1 - other), scale * factor, left - 1);
    }
    Penalty(*node, scale);
  }

  // Reads L2Loss(w), half the sum of squares, and Sum(Square(w)).
  void Penalty(const SeenNode& node, double scale) {
    if (node.op == "L2Loss") {
      if (const auto name = VariableAt(graph_, node, 0)) {
        rates_[*name] += scale;
        return;
      }
    }
    const SeenNode* const square = node.op == "Sum" ? SourceAt(graph_, node, 0) : nullptr;
    if (square != nullptr && square->op == "Square") {
      if (const auto name = VariableAt(graph_, *square, 0)) {
        rates_[*name] += 2 * scale;
        return;
      }
    }
    Miss(&node);
  }

  void Miss(const SeenNode* node) {
    found_.unknown.push_back(
        fmt::format("a term of the loss that this job lacks: {}", Described(node)));
  }

  // Names without a summary of the loss: the penalties are there, and how they count is not known.
  void MarkPenalties() {
    for (const SeenNode& node : graph_.nodes()) {
      const bool squares = node.op == "L2Loss" || node.op == "Square" || node.op == "Abs";
      if (!squares || node.name.find("gradients") != std::string::npos) continue;
      if (!VariableAt(graph_, node, 0)) continue;
      found_.unknown.push_back(fmt::format(
          "a penalty on weights in the loss ({}): add l2_weight_decay, or a layer's regularizer",
          Described(&node)));
      return;
    }
  }

  // A rate's digits as they were written: the graph has float32, and a product of them.
  [[nodiscard]] static std::string RateText(double rate) {
    return NumberText(static_cast<float>(rate));
  }

  void WritePenalties() {
    if (rates_.empty()) return;
    const double rate = rates_.begin()->second;
    for (const auto& [name, other] : rates_) {
      if (static_cast<float>(other) == static_cast<float>(rate)) continue;
      std::vector<std::string> all;
      for (const auto& [each, value] : rates_) {
        all.push_back(fmt::format("{} {}", each, RateText(value)));
      }
      found_.unknown.push_back(
          fmt::format("the loss has L2 penalties with different rates (times half the sum of "
                      "squares): {}; give each layer a kernel_regularizer with half its rate",
                      Join(all, ", ")));
      return;
    }
    std::vector<std::string> excluded;
    for (const std::string& name : variables_.Names()) {
      const std::string role = name.substr(name.rfind('/') + 1);
      const bool is_weight =
          role.ends_with("kernel") || role == "bias" || role == "gamma" || role == "beta";
      if (is_weight && !rates_.contains(name)) excluded.push_back(config::StringText(name));
    }
    found_.text = fmt::format("l2_weight_decay: {{rate: {}, exclude: [{}]}}", RateText(rate),
                              Join(excluded, ", "));
  }

  const SeenGraph& graph_;
  const BundleReader& variables_;
  const MigratedLoss& loss_;
  std::map<std::string, double> rates_;  // of half the squares, by variable
  LossTerms found_;
};

}  // namespace

LossTerms FindLossTerms(const SeenGraph& graph, const BundleReader& variables,
                        const MigratedLoss& loss) {
  return TermFinder(graph, variables, loss).Run();
}

}  // namespace tpuest::cli
