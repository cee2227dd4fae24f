#include <string_view>
#include <vector>

#include "cli/prepare/migrate/optimizer.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// A number that a Keras optimizer keeps in the checkpoint, and its key in the job.
struct Hyper {
  std::string_view name;
  double standard;  // value where the job does not say it
};

struct OptimizerKind {
  std::string_view type;
  std::string_view apply;  // the op that updates a dense variable
  int epsilon_input;       // the op's input that is epsilon; -1: it has none
  std::vector<Hyper> hypers;
};

const std::vector<OptimizerKind>& KerasKinds() {
  static const std::vector<OptimizerKind> kKinds = {
      {"Ftrl",
       "ResourceApplyFtrl",
       -1,
       {{"learning_rate_power", -0.5},
        {"l1_regularization_strength", 0},
        {"l2_regularization_strength", 0},
        {"beta", 0}}},
      {"Adagrad", "ResourceApplyAdagradV2", 3, {}},
      {"Adam", "ResourceApplyAdam", 8, {{"beta_1", 0.9}, {"beta_2", 0.999}}},
      {"RMSprop", "ResourceApplyRMSProp", 6, {{"rho", 0.9}, {"momentum", 0}}},
      {"SGD", "ResourceApplyGradientDescent", -1, {{"momentum", 0}}},
  };
  return kKinds;
}

// The place where an optimizer keeps its numbers: "training/Ftrl", "training_2/Ftrl".
struct FoundOptimizer {
  const OptimizerKind* kind = nullptr;
  std::string scope;
};

class KerasFinder {
 public:
  KerasFinder(const SeenGraph& graph, const BundleReader& variables)
      : graph_(graph), variables_(variables) {}

  [[nodiscard]] std::optional<MigratedLine> Run(const std::string& part) const {
    const FoundOptimizer found = Find(part);
    if (found.kind == nullptr) return std::nullopt;
    std::string text = fmt::format("{{type: {}", found.kind->type);
    const auto rate = Number(found.scope + "/learning_rate");
    if (rate) text += ", learning_rate: " + NumberText(static_cast<float>(*rate));
    for (const Hyper& hyper : found.kind->hypers) {
      const auto value = Number(fmt::format("{}/{}", found.scope, hyper.name));
      if (!value || static_cast<float>(*value) == static_cast<float>(hyper.standard)) continue;
      text += fmt::format(", {}: {}", hyper.name, NumberText(static_cast<float>(*value)));
    }
    const auto decay = Number(found.scope + "/decay");
    if (decay.value_or(0) != 0) text += ", decay: " + NumberText(static_cast<float>(*decay));
    AddEpsilon(*found.kind, text);
    return MigratedLine{text + "}", rate ? "" : "the learning rate: it may be a schedule"};
  }

 private:
  [[nodiscard]] std::optional<double> Number(const std::string& name) const {
    if (!variables_.Has(name) || variables_.ShapeOf(name).elements() != 1) return std::nullopt;
    return variables_.Read(name).AsDouble(0);
  }

  // Finds the optimizer by the place of its slots of variables below `part`, or else by its op in
  // the graph.
  [[nodiscard]] FoundOptimizer Find(const std::string& part) const {
    for (const std::string& name : variables_.Names()) {
      if (!name.starts_with("training")) continue;
      for (const OptimizerKind& kind : KerasKinds()) {
        const std::string middle = fmt::format("/{}/{}", kind.type, part);
        const size_t at = name.find(middle);
        if (at == std::string::npos) continue;
        return {&kind, name.substr(0, at + 1 + kind.type.size())};
      }
    }
    for (const OptimizerKind& kind : KerasKinds()) {  // SGD without momentum has no slots
      for (const std::string& name : variables_.Names()) {
        const std::string ending = fmt::format("/{}/learning_rate", kind.type);
        if (name.starts_with("training") && EndsWith(name, ending)) {
          return {&kind, name.substr(0, name.size() - std::string("/learning_rate").size())};
        }
      }
    }
    return {};
  }

  void AddEpsilon(const OptimizerKind& kind, std::string& text) const {
    constexpr float kStandard = 1e-7F;
    if (kind.epsilon_input < 0) return;
    for (const SeenNode& node : graph_.nodes()) {
      if (node.op != kind.apply) continue;
      const auto epsilon = graph_.ConstantAt(node, static_cast<size_t>(kind.epsilon_input));
      if (!epsilon || epsilon->elements() != 1) continue;
      const auto value = static_cast<float>(epsilon->AsDouble(0));
      if (value != kStandard) text += ", epsilon: " + NumberText(value);
      return;
    }
  }

  const SeenGraph& graph_;
  const BundleReader& variables_;
};

}  // namespace

std::optional<MigratedLine> FindKerasOptimizer(const SeenGraph& graph,
                                               const BundleReader& variables,
                                               const std::string& part) {
  return KerasFinder(graph, variables).Run(part);
}

}  // namespace tpuest::cli
