#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "cli/prepare/migrate/optimizers/optimizer.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// A number among the inputs of the op, and its key in the job.
struct Number {
  size_t input;
  std::string_view key;
  double standard;  // value where the job does not say it; NaN: the job must
};

constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();

// An op that updates a variable; its names with and without "Resource" have the same inputs.
struct Kind {
  std::string_view type;
  std::string_view op;
  size_t rate;  // the input that is the learning rate
  std::vector<Number> numbers;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kKinds = {
      {"GradientDescentOptimizer", "ApplyGradientDescent", 1, {}},
      {"MomentumOptimizer", "ApplyMomentum", 2, {{4, "momentum", kRequired}}},
      {"AdamOptimizer",
       "ApplyAdam",
       5,
       {{6, "beta1", 0.9}, {7, "beta2", 0.999}, {8, "epsilon", 1e-8}}},
      {"AdagradOptimizer", "ApplyAdagrad", 2, {}},
      {"RMSPropOptimizer",
       "ApplyRMSProp",
       3,
       {{4, "decay", 0.9}, {5, "momentum", 0}, {6, "epsilon", 1e-10}}},
      {"RMSPropOptimizer",
       "ApplyCenteredRMSProp",
       4,
       {{5, "decay", 0.9}, {6, "momentum", 0}, {7, "epsilon", 1e-10}}},
      {"FtrlOptimizer",
       "ApplyFtrl",
       4,
       {{5, "l1_regularization_strength", 0},
        {6, "l2_regularization_strength", 0},
        {7, "learning_rate_power", -0.5}}},
      {"FtrlOptimizer",
       "ApplyFtrlV2",
       4,
       {{5, "l1_regularization_strength", 0},
        {6, "l2_regularization_strength", 0},
        {7, "l2_shrinkage_regularization_strength", 0},
        {8, "learning_rate_power", -0.5}}},
  };
  return kKinds;
}

const Kind* KindOf(const SeenNode& node) {
  std::string_view op = node.op;
  if (op.starts_with("Resource")) op.remove_prefix(std::string_view("Resource").size());
  for (const Kind& kind : Kinds()) {
    if (kind.op == op) return &kind;
  }
  return nullptr;
}

class TrainFinder {
 public:
  TrainFinder(const SeenGraph& graph, const BundleReader& variables)
      : graph_(graph), variables_(variables) {}

  std::optional<MigratedLine> Run(const std::string& part) {
    const SeenNode* first = nullptr;
    for (const SeenNode& node : graph_.nodes()) {
      const Kind* const kind = KindOf(node);
      if (kind == nullptr || node.inputs.empty() || !node.inputs[0].starts_with(part)) continue;
      if (first == nullptr) {
        first = &node;
      } else if (!SameOptimizer(*first, node)) {
        Miss(fmt::format(
            "\"{}\" was updated by a different optimizer or with a different rate ({} \"{}\")",
            VariableAt(graph_, node, 0).value_or(node.inputs[0]), node.op, node.name));
        break;
      }
    }
    if (first != nullptr) return Write(*KindOf(*first), *first);
    if (!HasSlots(part, "/adam_m")) return std::nullopt;
    return MigratedLine{"{type: AdamWeightDecayOptimizer, learning_rate: 0.0001}",
                        "the numbers of AdamWeightDecayOptimizer"};
  }

 private:
  [[nodiscard]] bool HasSlots(const std::string& part, std::string_view ending) const {
    for (const std::string& name : variables_.Names()) {
      if (name.starts_with(part) && name.ends_with(ending)) return true;
    }
    return false;
  }

  // True where two updates are of one kind and take their numbers from the same nodes, or the same
  // constants.
  [[nodiscard]] bool SameOptimizer(const SeenNode& a, const SeenNode& b) const {
    const Kind& kind = *KindOf(a);
    if (&kind != KindOf(b)) return false;
    const auto same = [&](size_t input) {
      const auto number = ScalarAt(graph_, a, input);
      const SeenNode* const at = SourceAt(graph_, a, input);
      return number ? number == ScalarAt(graph_, b, input) : at == SourceAt(graph_, b, input);
    };
    return same(kind.rate) && std::all_of(kind.numbers.begin(), kind.numbers.end(),
                                          [&](const Number& number) { return same(number.input); });
  }

  [[nodiscard]] MigratedLine Write(const Kind& kind, const SeenNode& node) {
    // Slots have the optimizer's name; LARS updates by the op of momentum, with rates of its own.
    const bool lars = kind.op == "ApplyMomentum" && HasSlots("", "/LARSOptimizer");
    text_ = fmt::format("{{type: {}", lars ? "LARSOptimizer" : kind.type);
    AddRate(node, kind.rate, lars);
    for (const Number& number : kind.numbers) AddNumber(node, number);
    const auto flag = [&](const char* name) {
      return node.ints.contains(name) && node.ints.at(name) != 0;
    };
    if (flag("use_nesterov")) text_ += ", use_nesterov: true";
    if (kind.op == "ApplyCenteredRMSProp") text_ += ", centered: true";
    AddClipping();
    if (HasSlots("", "/ExponentialMovingAverage")) AddAverage();
    if (lars) Miss("the numbers of LARSOptimizer");
    return {text_ + "}", Join(missing_, "; ")};
  }

  void Miss(std::string what) { missing_.push_back(std::move(what)); }

  void AddNumber(const SeenNode& node, const Number& number) {
    const auto value = ScalarAt(graph_, node, number.input);
    if (!value) {
      Miss(fmt::format("{}: it is not a constant", number.key));
      if (std::isnan(number.standard)) text_ += fmt::format(", {}: 0.9", number.key);
      return;
    }
    const auto known = static_cast<float>(*value);
    if (known == static_cast<float>(number.standard)) return;
    text_ += fmt::format(", {}: {}", number.key, NumberText(known));
  }

  void AddRate(const SeenNode& node, size_t input, bool is_scaled) {
    const auto rate = is_scaled ? std::nullopt : ScalarAt(graph_, node, input);
    if (rate) {
      text_ += ", learning_rate: " + NumberText(static_cast<float>(*rate));
      return;
    }
    const SeenNode* const at =
        input < node.inputs.size() ? graph_.Find(node.inputs[input]) : nullptr;
    const auto schedule = at == nullptr || is_scaled ? std::nullopt : ExponentialDecay(*at);
    text_ += ", learning_rate: " + schedule.value_or("0.01");
    if (!schedule) {
      Miss(fmt::format("the learning rate: it is neither a constant nor exponential_decay{}",
                       at == nullptr ? "" : fmt::format(" ({} \"{}\")", at->op, at->name)));
    }
  }

  // Reads rate * decay_rate ^ (step / decay_steps); staircase takes the quotient's floor.
  [[nodiscard]] std::optional<std::string> ExponentialDecay(const SeenNode& node) const {
    if (node.op == "Identity" && !node.inputs.empty()) {
      const SeenNode* const before = graph_.Find(node.inputs[0]);
      return before == nullptr || before->op == "Identity" ? std::nullopt
                                                           : ExponentialDecay(*before);
    }
    for (const size_t constant : {0, 1}) {
      const SeenNode* const power = InputOf(node, "Mul", 1 - constant);
      const auto rate = ScalarAt(graph_, node, constant);
      if (power == nullptr || power->op != "Pow" || !rate) continue;
      return Decayed(*rate, *power);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> Decayed(double rate, const SeenNode& power) const {
    const SeenNode* exponent = InputOf(power, "Pow", 1);
    if (exponent == nullptr) return std::nullopt;
    const auto decay_rate = ScalarAt(graph_, power, 0);
    const bool staircase = exponent->op == "Floor";
    if (staircase) exponent = InputOf(*exponent, "Floor", 0);
    if (exponent == nullptr || (exponent->op != "RealDiv" && exponent->op != "Div")) {
      return std::nullopt;
    }
    const auto decay_steps = ScalarAt(graph_, *exponent, 1);
    if (!decay_rate || !decay_steps) return std::nullopt;
    return fmt::format(
        "{{type: exponential_decay, learning_rate: {}, decay_steps: {}, decay_rate: {}{}}}",
        NumberText(static_cast<float>(rate)), NumberText(*decay_steps),
        NumberText(static_cast<float>(*decay_rate)), staircase ? ", staircase: true" : "");
  }

  // The node at an input of a node that is of this op.
  [[nodiscard]] const SeenNode* InputOf(const SeenNode& node, std::string_view op,
                                        size_t input) const {
    if (node.op != op || input >= node.inputs.size()) return nullptr;
    return graph_.Find(node.inputs[input]);
  }

  // Reads tf.clip_by_global_norm: clip_norm * min(1 / norm, 1 / clip_norm).
  void AddClipping() {
    for (const SeenNode& node : graph_.nodes()) {
      if (node.op != "Mul" || node.inputs.size() < 2) continue;
      if (node.name.find("clip_by_global_norm") == std::string::npos) continue;
      for (const size_t constant : {0, 1}) {
        const SeenNode* const smallest = graph_.Find(node.inputs[1 - constant]);
        const auto norm = ScalarAt(graph_, node, constant);
        if (smallest == nullptr || smallest->op != "Minimum" || !norm) continue;
        text_ += ", clip_by_global_norm: " + NumberText(static_cast<float>(*norm));
        return;
      }
    }
    for (const char* const scope : {"clip_by_norm/", "clip_by_value/", "clip_by_average_norm/"}) {
      for (const SeenNode& node : graph_.nodes()) {
        if (!ChangesGradient(graph_, node, scope)) continue;
        Miss(fmt::format("how gradients were clipped (the graph has \"{}\")", node.name));
        return;
      }
    }
  }

  // The training graph does not show what was restored for evaluations; Estimator's own way is the
  // variables themselves.
  void AddAverage() {
    Miss("whether evaluations and exports used the averages (use_in_eval)");
    text_ += ", exponential_moving_average: {use_in_eval: false, ";
    for (const SeenNode* const node : graph_.Below("", "Cast")) {
      const bool is_count = node->name.find("ExponentialMovingAverage") != std::string::npos &&
                            node->name.ends_with("/num_updates");
      if (is_count) text_ += "num_updates: global_step, ";
      if (is_count) break;
    }
    text_ += "decay: ";
    for (const SeenNode* const node : graph_.Below("", "Const")) {
      const bool is_decay = node->name.find("ExponentialMovingAverage") != std::string::npos &&
                            node->name.ends_with("/decay") && node->value &&
                            node->value->elements() == 1;
      if (!is_decay) continue;
      text_ += NumberText(static_cast<float>(node->value->AsDouble(0))) + "}";
      return;
    }
    text_ += "0.999}";
    Miss("the decay of the averages");
  }

  const SeenGraph& graph_;
  const BundleReader& variables_;
  std::string text_;
  std::vector<std::string> missing_;
};

}  // namespace

std::set<std::string> UpdatedVariables(const SeenGraph& graph) {
  std::set<std::string> names;
  for (const SeenNode& node : graph.nodes()) {
    if (KindOf(node) == nullptr) continue;
    if (const auto name = VariableAt(graph, node, 0)) names.insert(*name);
  }
  return names;
}

std::optional<MigratedLine> FindTrainOptimizer(const SeenGraph& graph,
                                               const BundleReader& variables,
                                               const std::string& part) {
  return TrainFinder(graph, variables).Run(part);
}

}  // namespace tpuest::cli
