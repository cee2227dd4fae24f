#include "cli/prepare/migrate/model/model.h"

#include <algorithm>
#include <array>
#include <set>

#include "cli/prepare/migrate/columns/normalizers.h"
#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "cli/prepare/migrate/input/elements.h"
#include "cli/prepare/migrate/model/loss.h"
#include "cli/prepare/migrate/optimizers/optimizer.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kLinearBias = "linear/linear_model/bias_weights";
constexpr const char* kDnnBias = "dnn/logits/bias";
constexpr const char* kBaselineBias = "baseline/bias";

// True for a node of the head: tf.compat.v1's stands below the model ("dnn/head/...").
bool IsOfHead(const SeenNode& node) {
  for (const char* const scope : {"head/", "dnn/head/", "linear/head/"}) {
    if (node.name.starts_with(scope)) return true;
  }
  return false;
}

// Finds an estimator's head by the ops of its loss, and adds the model's lines about it.
class HeadFinder {
 public:
  HeadFinder(const SeenGraph& graph, const BundleReader& variables, MigratedModel& model)
      : graph_(graph), variables_(variables), model_(model) {}

  // `logits` is the number of logits, `family` the estimator's name before Classifier or Regressor.
  void Run(int64_t logits, const std::string& family) {
    const bool softmax = HeadHas("SparseSoftmaxCrossEntropyWithLogits");
    const bool squared =
        HeadHas("SquaredDifference", "loss") || HeadHas("SquaredDifference", "mean_squared_error");
    const bool logistic =
        HeadHas("Softplus", "loss") || HeadHas("Log1p", "loss") || HeadHas("Sigmoid");
    model_.labels_are_classes = !squared;
    model_.type = family + (squared ? "Regressor" : "Classifier");
    if (squared) {
      model_.label_dimension = logits;
      if (logits != 1) model_.Add(fmt::format("label_dimension: {}", logits));
    } else {
      const int64_t classes = logits == 1 ? 2 : logits;
      const bool is_known = !HasSeveralHeads() && (softmax || (logits == 1 && logistic));
      model_.Add(fmt::format("n_classes: {}", classes),
                 is_known ? "" : "the head: choose it by the loss in the graph");
      AddVocabulary(classes);
    }
    // The losses' sum is divided by their number, but for SUM.
    const bool divided = HeadHas("DivNoNan", "weighted_loss") ||
                         HeadHas("RealDiv", "weighted_loss") || HeadHas("Div", "weighted_loss");
    if (HeadHas("Sum", "weighted_loss") && !divided) model_.Add("loss_reduction: SUM");
    if (HeadHas("Sum", "weighted_loss") && divided) AddDivisor();
    if (const SeenNode* const weighs = FindWeights()) AddWeights(*weighs);
    if (!squared && logits == 1 && IsOfVersion1()) {
      model_.Add(
          "metrics: [{type: auc, curve: PR, summation_method: trapezoidal, name: "
          "auc_precision_recall}]");
    }
  }

 private:
  // True where the head has a node of this op, with this in its name.
  [[nodiscard]] bool HeadHas(std::string_view op, std::string_view part = "") const {
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const SeenNode& node) {
      return node.op == op && IsOfHead(node) && node.name.find(part) != std::string::npos;
    });
  }

  // Optimizers of a MultiHead keep their variables under training_2, as many as there are heads.
  [[nodiscard]] bool HasSeveralHeads() const {
    const std::vector<std::string> names = variables_.Names();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with("training_"); });
  }

  // A sum of losses is divided by their number, by the number of those with a weight, or by the
  // weights' sum.
  void AddDivisor() {
    const auto divides_by = [&](std::string_view count) {
      return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const SeenNode& node) {
        return IsOfHead(node) && node.name.find(count) != std::string::npos;
      });
    };
    if (divides_by("weighted_loss/num_elements")) return;
    const bool counts = divides_by("weighted_loss/num_present");
    model_.Add(counts ? "loss_reduction: SUM_BY_NONZERO_WEIGHTS" : "loss_reduction: MEAN");
  }

  // The losses are multiplied by their weights: a one if there is no column of them.
  [[nodiscard]] const SeenNode* FindWeights() const {
    for (const SeenNode& node : graph_.nodes()) {
      const bool weighs =
          node.op == "Mul" && IsOfHead(node) && node.name.ends_with("weighted_loss/Mul");
      if (!weighs || node.inputs.size() < 2) continue;
      if (!ScalarAt(graph_, node, 0) && !ScalarAt(graph_, node, 1)) return &node;
    }
    return nullptr;
  }

  // The iterator's tensor that the weights are, if they are one as it is.
  [[nodiscard]] std::optional<size_t> WeightsOutput(const SeenNode& product) const {
    for (const size_t input : {1, 0}) {
      const MigratedFormula formula = FindFormula(graph_, product.inputs[input]);
      if (formula.obstacle != nullptr || formula.source.empty()) continue;
      if (formula.text == "x") return OutputOf(formula.source);
      return std::nullopt;
    }
    return std::nullopt;
  }

  // A parser tells the name of the feature, or it is the one in the order of the names.
  void AddWeights(const SeenNode& product) {
    const std::optional<size_t> output = WeightsOutput(product);
    const std::vector<std::string> elements = IteratorFeatures(graph_);
    const bool is_named = output && *output < elements.size() && !elements[*output].empty();
    const std::string name = is_named ? elements[*output] : "weight";
    std::string unknown;
    if (!is_named) unknown = "the name of the feature with the weights of examples";
    if (!output) unknown += fmt::format(", and how {} uses it in the loss", Described(&product));
    model_.Add("weight_column: " + config::StringText(name), unknown);
    model_.weight = name;
    model_.weight_output = output;
  }

  // tf.compat.v1.estimator's models are trained by tf.train's optimizers.
  [[nodiscard]] bool IsOfVersion1() const {
    return !FindKerasOptimizer(graph_, variables_, "") &&
           FindTrainOptimizer(graph_, variables_, "").has_value();
  }

  void AddVocabulary(int64_t classes) {
    for (const SeenNode& node : graph_.nodes()) {
      const bool is_vocabulary =
          node.op == "Const" && IsOfHead(node) && node.name.find("lookup") != std::string::npos &&
          node.value && node.value->dtype() == DType::kString && node.value->elements() == classes;
      if (!is_vocabulary) continue;
      std::vector<std::string> words;
      for (const std::string_view word : node.value->strings()) {
        words.push_back(config::StringText(word));
      }
      model_.Add(fmt::format("label_vocabulary: [{}]", Join(words, ", ")));
      model_.labels_are_words = true;
      return;
    }
  }

  const SeenGraph& graph_;
  const BundleReader& variables_;
  MigratedModel& model_;
};

// Finds which estimator has these variables, with what columns, network and optimizers.
class ModelFinder {
 public:
  ModelFinder(const SeenGraph& graph, const BundleReader& variables, const MigratedColumns& columns)
      : graph_(graph), variables_(variables), columns_(columns) {}

  std::optional<MigratedModel> Run() {
    const bool linear = variables_.Has(kLinearBias);
    const bool dnn = variables_.Has(kDnnBias);
    if (!linear && !dnn) return Baseline();
    const std::string family = linear && dnn ? "DNNLinearCombined" : dnn ? "DNN" : "Linear";
    HeadFinder(graph_, variables_, model_)
        .Run(variables_.ShapeOf(dnn ? kDnnBias : kLinearBias).elements(), family);
    if (linear && dnn) {
      AddList("linear_feature_columns", columns_.linear);
      AddCombiner("linear_");
      AddOptimizer("linear_optimizer", "linear/");
      AddList("dnn_feature_columns", columns_.dnn);
      AddNetwork("dnn_");
      AddOptimizer("dnn_optimizer", "dnn/");
    } else if (linear) {
      AddList("feature_columns", columns_.linear);
      AddCombiner("");
      AddOptimizer("optimizer", "linear/");
    } else {
      AddList("feature_columns", columns_.dnn);
      AddNetwork("");
      AddOptimizer("optimizer", "dnn/");
    }
    model_.logits = HeadLogits(graph_);
    return std::move(model_);
  }

 private:
  std::optional<MigratedModel> Baseline() {
    if (!variables_.Has(kBaselineBias)) return std::nullopt;
    HeadFinder(graph_, variables_, model_)
        .Run(variables_.ShapeOf(kBaselineBias).elements(), "Baseline");
    AddOptimizer("optimizer", "baseline/");
    model_.takes_any_feature = true;
    return std::move(model_);
  }

  void AddList(const std::string& key, const std::vector<std::string>& names) {
    std::vector<std::string> words;
    for (const std::string& name : names) words.push_back(config::StringText(name));
    model_.Add(fmt::format("{}: [{}]", key, Join(words, ", ")));
  }

  void AddCombiner(const std::string& prefix) {
    if (columns_.sparse_combiner == "sum") return;
    model_.Add(fmt::format("{}sparse_combiner: {}", prefix, columns_.sparse_combiner));
  }

  [[nodiscard]] bool HasOp(const std::string& scope, std::string_view op) const {
    return !graph_.Below(scope, std::string(op)).empty();
  }

  void AddNetwork(const std::string& prefix) {
    std::vector<std::string> units;
    for (int64_t i = 0;; ++i) {
      const std::string kernel = fmt::format("dnn/hiddenlayer_{}/kernel", i);
      if (!variables_.Has(kernel)) break;
      units.push_back(fmt::format("{}", variables_.ShapeOf(kernel).dim(-1)));
    }
    model_.Add(fmt::format("{}hidden_units: [{}]", prefix, Join(units, ", ")));
    AddActivation(prefix);
    AddDropout(prefix);
    if (variables_.Has("dnn/hiddenlayer_0/batchnorm_0/gamma")) model_.Add("batch_norm: true");
  }

  // Some activations are products with a simpler one's result.
  void AddActivation(const std::string& prefix) {
    static constexpr std::array<std::pair<const char*, const char*>, 8> kNames = {
        {{"Relu", "relu"},
         {"Relu6", "relu6"},
         {"Elu", "elu"},
         {"Selu", "selu"},
         {"Tanh", "tanh"},
         {"Sigmoid", "sigmoid"},
         {"Softplus", "softplus"},
         {"Softsign", "softsign"}}};
    const std::set<std::string> ops = ActivationOps();
    std::string found;
    for (const auto& [op, name] : kNames) {
      if (found.empty() && ops.contains(op)) found = name;
    }
    if (ops.contains("Mul")) {
      const bool is_swish = found == "sigmoid";
      found = ops.contains("Erf") ? "gelu" : is_swish ? "swish" : "";
    }
    if (found.empty()) {
      model_.Add(fmt::format("{}activation_fn: relu", prefix),
                 "the activation of the hidden layers");
    } else if (found != "relu") {
      model_.Add(fmt::format("{}activation_fn: {}", prefix, found));
    }
  }

  // The ops of the first hidden layer beside those of its variables and of its normalization.
  [[nodiscard]] std::set<std::string> ActivationOps() const {
    std::set<std::string> ops;
    for (const SeenNode& node : graph_.nodes()) {
      const bool is_other = node.name.find("/batchnorm_") != std::string::npos ||
                            node.name.find("/Initializer/") != std::string::npos;
      if (node.name.starts_with("dnn/hiddenlayer_0/") && !is_other) ops.insert(node.op);
    }
    return ops;
  }

  // Dropout multiplies by 1 / (1 - rate) before it selects.
  void AddDropout(const std::string& prefix) {
    if (!HasOp("dnn/dropout", "RandomUniform")) return;
    for (const SeenNode* const node : graph_.Below("dnn/dropout", "GreaterEqual")) {
      const auto rate = graph_.ConstantAt(*node, 1);
      if (!rate || rate->elements() != 1) continue;
      model_.Add(
          fmt::format("{}dropout: {}", prefix, NumberText(static_cast<float>(rate->AsDouble(0)))));
      return;
    }
    model_.Add(fmt::format("{}dropout: 0.5", prefix), "the rate of dropout");
  }

  void AddOptimizer(const std::string& key, const std::string& part) {
    std::optional<MigratedLine> found = FindKerasOptimizer(graph_, variables_, part);
    if (!found) found = FindTrainOptimizer(graph_, variables_, part);
    if (found) {
      model_.Add(fmt::format("{}: {}", key, found->text), found->unknown);
    } else {
      model_.Add(fmt::format("{}: Adagrad", key),
                 "the optimizer: the graph has none of TensorFlow's");
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
  return ModelFinder(graph, variables, columns).Run();
}

}  // namespace tpuest::cli
