#include "cli/prepare/migrated_model.h"

#include <array>

#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kLinearBias = "linear/linear_model/bias_weights";
constexpr const char* kDnnBias = "dnn/logits/bias";

// A number that a Keras optimizer keeps in the checkpoint, and its key in the job.
struct Hyper {
  std::string_view name;
  double standard;  // what it is if the job does not say
};

struct OptimizerKind {
  std::string_view type;
  std::string_view apply;  // the op that updates a dense variable
  int epsilon_input;       // of that op; -1: it has none
  std::vector<Hyper> hypers;
};

const std::vector<OptimizerKind>& Kinds() {
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

// Where an optimizer keeps its numbers: "training/Ftrl", "training_2/Ftrl".
struct FoundOptimizer {
  const OptimizerKind* kind = nullptr;
  std::string scope;
};

class Finder {
 public:
  Finder(const SeenGraph& graph, const BundleReader& variables, const MigratedColumns& columns)
      : graph_(graph), variables_(variables), columns_(columns) {}

  std::optional<MigratedModel> Run() {
    const bool linear = variables_.Has(kLinearBias);
    const bool dnn = variables_.Has(kDnnBias);
    if (!linear && !dnn) return std::nullopt;
    const std::string family = linear && dnn ? "DNNLinearCombined" : dnn ? "DNN" : "Linear";
    AddHead(variables_.ShapeOf(dnn ? kDnnBias : kLinearBias).elements(), family);
    if (linear && dnn) {
      AddList("linear_feature_columns", columns_.linear);
      AddOptimizer("linear_optimizer", "linear/");
      AddList("dnn_feature_columns", columns_.dnn);
      AddNetwork("dnn_");
      AddOptimizer("dnn_optimizer", "dnn/");
    } else if (linear) {
      AddList("feature_columns", columns_.linear);
      AddOptimizer("optimizer", "linear/");
    } else {
      AddList("feature_columns", columns_.dnn);
      AddNetwork("");
      AddOptimizer("optimizer", "dnn/");
    }
    return std::move(model_);
  }

 private:
  void Add(std::string text, std::string unknown = "") {
    model_.lines.push_back({std::move(text), std::move(unknown)});
  }

  void AddList(const std::string& key, const std::vector<std::string>& names) {
    std::vector<std::string> words;
    for (const std::string& name : names) words.push_back(config::StringText(name));
    Add(fmt::format("{}: [{}]", key, Join(words, ", ")));
  }

  [[nodiscard]] bool HasOp(const std::string& scope, std::string_view op) const {
    return !graph_.Below(scope, std::string(op)).empty();
  }

  // By the loss's ops; `logits` is how many there are.
  void AddHead(int64_t logits, const std::string& family) {
    const bool softmax = HasOp("head", "SparseSoftmaxCrossEntropyWithLogits");
    const bool squared = HasOp("head/losses", "SquaredDifference");
    const bool logistic = HasOp("head/losses", "Softplus") || HasOp("head/losses", "Log1p") ||
                          HasOp("head", "Sigmoid");
    model_.labels_are_classes = !squared;
    model_.type = family + (squared ? "Regressor" : "Classifier");
    if (squared) {
      model_.label_dimension = logits;
      if (logits != 1) Add(fmt::format("label_dimension: {}", logits));
      return;
    }
    const int64_t classes = logits == 1 ? 2 : logits;
    Add(fmt::format("n_classes: {}", classes),
        softmax || (logits == 1 && logistic) ? "" : "the head, by the loss in the graph");
    for (const SeenNode* const node : graph_.Below("head", "Const")) {
      const bool is_vocabulary = node->name.find("lookup") != std::string::npos && node->value &&
                                 node->value->dtype() == DType::kString &&
                                 node->value->elements() == classes;
      if (!is_vocabulary) continue;
      std::vector<std::string> words;
      for (const std::string_view word : node->value->strings()) {
        words.push_back(config::StringText(word));
      }
      Add(fmt::format("label_vocabulary: [{}]", Join(words, ", ")));
      model_.labels_are_words = true;
      return;
    }
  }

  void AddNetwork(const std::string& prefix) {
    std::vector<std::string> units;
    for (int64_t i = 0;; ++i) {
      const std::string kernel = fmt::format("dnn/hiddenlayer_{}/kernel", i);
      if (!variables_.Has(kernel)) break;
      units.push_back(fmt::format("{}", variables_.ShapeOf(kernel).dim(-1)));
    }
    Add(fmt::format("{}hidden_units: [{}]", prefix, Join(units, ", ")));
    AddActivation(prefix);
    AddDropout(prefix);
    if (variables_.Has("dnn/hiddenlayer_0/batchnorm_0/gamma")) Add("batch_norm: true");
  }

  void AddActivation(const std::string& prefix) {
    static constexpr std::array<std::pair<const char*, const char*>, 7> kNames = {
        {{"Relu", "relu"},
         {"Relu6", "relu6"},
         {"Elu", "elu"},
         {"Selu", "selu"},
         {"Tanh", "tanh"},
         {"Sigmoid", "sigmoid"},
         {"Softplus", "softplus"}}};
    for (const auto& [op, name] : kNames) {
      if (!HasOp("dnn/hiddenlayer_0", op)) continue;
      if (std::string_view(name) != "relu") Add(fmt::format("{}activation_fn: {}", prefix, name));
      return;
    }
    Add(fmt::format("{}activation_fn: relu", prefix), "the activation of the hidden layers");
  }

  // Dropout multiplies by 1 / (1 - rate) before it selects.
  void AddDropout(const std::string& prefix) {
    if (!HasOp("dnn/dropout", "RandomUniform")) return;
    for (const SeenNode* const node : graph_.Below("dnn/dropout", "GreaterEqual")) {
      const auto rate = graph_.ConstantAt(*node, 1);
      if (!rate || rate->elements() != 1) continue;
      Add(fmt::format("{}dropout: {}", prefix, NumberText(static_cast<float>(rate->AsDouble(0)))));
      return;
    }
    Add(fmt::format("{}dropout: 0.5", prefix), "the rate of dropout");
  }

  [[nodiscard]] std::optional<double> Number(const std::string& name) const {
    if (!variables_.Has(name) || variables_.ShapeOf(name).elements() != 1) return std::nullopt;
    return variables_.Read(name).AsDouble(0);
  }

  // By where its slots of variables below `part` are, or else by its op in the graph.
  [[nodiscard]] FoundOptimizer Find(const std::string& part) const {
    for (const std::string& name : variables_.Names()) {
      if (!name.starts_with("training")) continue;
      for (const OptimizerKind& kind : Kinds()) {
        const std::string middle = fmt::format("/{}/{}", kind.type, part);
        const size_t at = name.find(middle);
        if (at == std::string::npos) continue;
        return {&kind, name.substr(0, at + 1 + kind.type.size())};
      }
    }
    for (const OptimizerKind& kind : Kinds()) {  // SGD without momentum has no slots
      for (const std::string& name : variables_.Names()) {
        const std::string ending = fmt::format("/{}/learning_rate", kind.type);
        if (name.starts_with("training") && EndsWith(name, ending)) {
          return {&kind, name.substr(0, name.size() - std::string("/learning_rate").size())};
        }
      }
    }
    return {};
  }

  void AddOptimizer(const std::string& key, const std::string& part) {
    const FoundOptimizer found = Find(part);
    if (found.kind == nullptr) {
      Add(fmt::format("{}: Adagrad", key), "the optimizer: no slots of one of Keras's are here");
      return;
    }
    std::string text = fmt::format("{}: {{type: {}", key, found.kind->type);
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
    Add(text + "}", rate ? "" : "the learning rate: it may be a schedule");
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
  const MigratedColumns& columns_;
  MigratedModel model_;
};

}  // namespace

std::optional<MigratedModel> FindModel(const SeenGraph& graph, const BundleReader& variables,
                                       const MigratedColumns& columns) {
  return Finder(graph, variables, columns).Run();
}

}  // namespace tpuest::cli
