#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "cli/prepare/migrate/optimizers/optimizer.h"
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

// The place where an optimizer keeps its numbers: "training/Ftrl", "training/Ftrl_1" of a second
// one, "training_2/Ftrl".
struct FoundOptimizer {
  const OptimizerKind* kind = nullptr;
  std::string scope;
};

// A variable that an optimizer keeps: "beta_1", or a slot's "linear/bias/m".
struct KeptVariable {
  FoundOptimizer by;
  std::string_view rest;
  [[nodiscard]] bool is_slot() const { return rest.find('/') != std::string_view::npos; }
};

// True for "Adam" and "Adam_1" of the type Adam.
bool IsNameOf(std::string_view word, std::string_view type) {
  if (!word.starts_with(type)) return false;
  const std::string_view rest = word.substr(type.size());
  const bool is_counted = rest.size() > 1 && rest[0] == '_' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return rest.empty() || is_counted;
}

// Tells the parts of "training/Adam_1/linear/bias/m" apart; no kind: no optimizer keeps it.
KeptVariable PartsOf(std::string_view name) {
  const size_t scope = name.starts_with("training") ? name.find('/') : std::string_view::npos;
  const size_t end = scope == std::string_view::npos ? scope : name.find('/', scope + 1);
  if (end == std::string_view::npos) return {};
  const std::string_view word = name.substr(scope + 1, end - scope - 1);
  for (const OptimizerKind& kind : KerasKinds()) {
    if (IsNameOf(word, kind.type)) {
      return {{&kind, std::string(name.substr(0, end))}, name.substr(end + 1)};
    }
  }
  return {};
}

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
    AddEpsilon(found, text);
    AddFlags(found, text);
    std::vector<std::string> unknown;
    if (found.kind->type == "Adam" && HasSlot(found, "/vhat")) {
      unknown.emplace_back("amsgrad: Adam here resumes without it, and without its vhat");
    }
    if (!rate) unknown.emplace_back("the learning rate: it may be a schedule");
    AddClipping(found, text, unknown);
    return MigratedLine{text + "}", Join(unknown, "; ")};
  }

 private:
  [[nodiscard]] std::optional<double> Number(const std::string& name) const {
    if (!variables_.Has(name) || variables_.ShapeOf(name).elements() != 1) return std::nullopt;
    return variables_.Read(name).AsDouble(0);
  }

  // Finds the optimizer by its slots of variables below `part`, or else as one without slots.
  [[nodiscard]] FoundOptimizer Find(const std::string& part) const {
    for (const std::string& name : variables_.Names()) {
      const KeptVariable kept = PartsOf(name);
      if (kept.is_slot() && kept.rest.starts_with(part)) return kept.by;
    }
    return FindWithoutSlots(part);
  }

  // SGD without momentum. The linear part's is the second one, which counts its steps itself.
  [[nodiscard]] FoundOptimizer FindWithoutSlots(const std::string& part) const {
    FoundOptimizer found;
    for (const std::string& name : variables_.Names()) {
      const KeptVariable kept = PartsOf(name);
      if (kept.rest != "learning_rate" || KeepsSlots(kept.by)) continue;
      const bool is_second = variables_.Has(kept.by.scope + "/iter");
      if (found.kind == nullptr || is_second == (part == "linear/")) found = kept.by;
    }
    return found;
  }

  [[nodiscard]] bool KeepsSlots(const FoundOptimizer& optimizer) const {
    const std::vector<std::string> names = variables_.Names();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const KeptVariable kept = PartsOf(name);
      return kept.is_slot() && kept.by.scope == optimizer.scope;
    });
  }

  // True for a node of this optimizer: "training/SGD/SGD/update_w/..." of "training/SGD".
  [[nodiscard]] static bool IsOf(const FoundOptimizer& found, const SeenNode& node) {
    return node.name.starts_with(found.scope + "/");
  }

  [[nodiscard]] bool HasSlot(const FoundOptimizer& found, std::string_view slot) const {
    const std::vector<std::string> names = variables_.Names();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with(found.scope + "/") && name.ends_with(slot);
    });
  }

  void AddFlags(const FoundOptimizer& found, std::string& text) const {
    const bool nesterov =
        std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const SeenNode& node) {
          const auto flag = node.ints.find("use_nesterov");
          return IsOf(found, node) && flag != node.ints.end() && flag->second != 0;
        });
    if (nesterov) text += ", nesterov: true";
    if (found.kind->type == "RMSprop" && HasSlot(found, "/mg")) text += ", centered: true";
  }

  // Gradients are shortened before they are applied: clip_by_norm, clip_by_value or
  // clip_by_global_norm below the optimizer's scope.
  void AddClipping(const FoundOptimizer& found, std::string& text,
                   std::vector<std::string>& unknown) const {
    struct Clipping {
      std::string_view scope;
      std::string_view op;
      std::string_view key;
    };
    static constexpr std::array<Clipping, 3> kClippings = {
        {{"clip_by_global_norm", "Mul", "global_clipnorm"},
         {"clip_by_norm", "Maximum", "clipnorm"},
         {"clip_by_value", "Minimum", "clipvalue"}}};
    for (const Clipping& clipping : kClippings) {
      std::optional<double> largest;
      bool is_there = false;
      for (const SeenNode& node : graph_.nodes()) {
        if (!IsOf(found, node) || !ChangesGradient(graph_, node, clipping.scope)) continue;
        is_there = true;
        if (node.op != clipping.op || largest) continue;
        largest = ScalarAt(graph_, node, 1);
        if (!largest) largest = ScalarAt(graph_, node, 0);
      }
      if (largest) {
        text += fmt::format(", {}: {}", clipping.key, NumberText(static_cast<float>(*largest)));
      } else if (is_there) {
        unknown.push_back(fmt::format("{}", clipping.key));
      }
    }
  }

  void AddEpsilon(const FoundOptimizer& found, std::string& text) const {
    constexpr float kStandard = 1e-7F;
    if (found.kind->epsilon_input < 0) return;
    for (const SeenNode& node : graph_.nodes()) {
      if (node.op != found.kind->apply || !IsOf(found, node)) continue;
      const auto epsilon = graph_.ConstantAt(node, static_cast<size_t>(found.kind->epsilon_input));
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
