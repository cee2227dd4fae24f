// compile_config of Keras 2.12 to 2.15, in a form that Keras 3 also reads:
//
//   {"optimizer": object, "loss": object or {output: object}, "metrics": [object] or {output:
//   [object]}, "loss_weights": null or {output: number}, "weighted_metrics": null}
//
// where an object is {"module", "class_name", "config", "registered_name"}.

#include "models/keras/compile_config.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/text.h"
#include "models/keras/function_classes.h"
#include "models/keras/network_archive.h"

namespace tpuest {
namespace {

KerasJson ObjectOf(std::string_view module, std::string_view class_name, KerasJson config) {
  return {{"module", std::string(module)},
          {"class_name", std::string(class_name)},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

// ---- optimizers
// ----------------------------------------------------------------------------------

// Thrown where Keras has no word for something, which it names.
struct NoWord {
  std::string what;
};

// The arguments of an optimizer or a schedule under their names, which are Keras'.
class ArgumentWriter {
 public:
  void operator()(std::string_view key, bool& value, const Field& /*field*/) { Put(key, value); }
  void operator()(std::string_view key, double& value, const Field& /*field*/) { Put(key, value); }
  void operator()(std::string_view key, std::optional<double>& value, const Field& /*field*/) {
    Put(key, value ? KerasJson(*value) : KerasJson());
  }
  void operator()(std::string_view key, std::vector<double>& value, const Field& /*field*/) {
    Put(key, value);
  }
  void operator()(std::string_view key, Period& value, const Field& /*field*/) {
    Put(key, Steps(value));
  }
  void operator()(std::string_view key, std::vector<Period>& values, const Field& /*field*/) {
    KerasJson steps = KerasJson::array();
    for (const Period& value : values) steps.push_back(Steps(value));
    Put(key, std::move(steps));
  }
  void operator()(std::string_view /*key*/, nn::Warmup& warmup, const Field& /*field*/) {
    if (warmup) throw NoWord{"the learning rate's warmup"};
  }
  void operator()(std::string_view key, std::optional<nn::LearningRate>& rate,
                  const Field& /*field*/) {
    if (rate) Put(key, RateOf(*rate));
  }

  [[nodiscard]] KerasJson Take() { return std::move(config_); }

 private:
  void Put(std::string_view key, KerasJson value) { config_[std::string(key)] = std::move(value); }

  static int64_t Steps(const Period& period) {
    if (period.unit != Period::Unit::kSteps) {
      throw NoWord{fmt::format("the learning rate's period {}", PeriodText(period))};
    }
    return std::llround(period.value);
  }

  template <class T>
  static KerasJson Schedule(std::string_view class_name, T schedule) {
    ArgumentWriter writer;
    schedule.Visit(writer);
    KerasJson config = writer.Take();
    if (config.contains("learning_rate")) {
      config["initial_learning_rate"] = config["learning_rate"];
      config.erase("learning_rate");
    }
    // Keras takes no null for steps that nobody asks for.
    if (config.contains("warmup_target") && config["warmup_target"].is_null()) {
      config.erase("warmup_target");
      config.erase("warmup_steps");
    }
    if (config.contains("decay_begin")) {
      if (config["decay_begin"] != 0) throw NoWord{"decay_begin"};
      config.erase("decay_begin");
    }
    return ObjectOf("keras.optimizers.schedules", class_name, std::move(config));
  }

  static KerasJson RateOf(const nn::LearningRate& rate) {
    return std::visit(
        [](const auto& given) -> KerasJson {
          using T = std::decay_t<decltype(given)>;
          if constexpr (std::is_same_v<T, double>) {
            return given;
          } else if constexpr (std::is_same_v<T, nn::ConstantRate>) {
            if (given.warmup) throw NoWord{"the learning rate's warmup"};
            return given.learning_rate;
          } else if constexpr (requires { T::kKeras; }) {
            if (T::kKeras.empty()) throw NoWord{std::string(T::kType)};
            return Schedule(T::kKeras, given);
          } else {
            throw NoWord{"a learning rate that is a formula"};
          }
        },
        rate);
  }

  KerasJson config_ = KerasJson::object();
};

KerasJson OptimizerJson(const nn::KerasOptimizer& optimizer) {
  return std::visit(
      [](auto given) -> KerasJson {
        using T = decltype(given);
        ArgumentWriter writer;
        given.Visit(writer);
        KerasJson config = writer.Take();
        if (!config.contains("learning_rate")) config["learning_rate"] = T::kLearningRate;
        // The optimizers since 2.11 have no decay; it is this schedule.
        const double decay = config["decay"].template get<double>();
        config.erase("decay");
        if (decay != 0) {
          if (!config["learning_rate"].is_number()) {
            throw NoWord{"decay together with a schedule of the learning rate"};
          }
          config["learning_rate"] = ObjectOf("keras.optimizers.schedules", "InverseTimeDecay",
                                             {{"initial_learning_rate", config["learning_rate"]},
                                              {"decay_steps", 1},
                                              {"decay_rate", decay},
                                              {"staircase", false}});
        }
        return ObjectOf("keras.optimizers", T::kType, std::move(config));
      },
      optimizer);
}

// The optimizers that are Keras' by another name.
struct ToKeras {
  using Found = std::optional<nn::KerasOptimizer>;

  nn::KerasOptions options;

  Found operator()(const nn::GradientDescentOptimizer& /*given*/) const {
    return nn::SGD{.options = options};
  }
  // Keras' slot has the rate in it.
  Found operator()(const nn::MomentumOptimizer& given) const {
    if (!std::holds_alternative<double>(given.learning_rate)) return std::nullopt;
    return nn::SGD{.options = options, .momentum = given.momentum, .nesterov = given.use_nesterov};
  }
  Found operator()(const nn::AdamOptimizer& given) const {
    return nn::Adam{
        .options = options, .decays = {given.beta1, given.beta2}, .epsilon = given.epsilon};
  }
  Found operator()(const nn::AdagradOptimizer& given) const {
    return nn::Adagrad{.options = options,
                       .initial_accumulator_value = given.initial_accumulator_value,
                       .epsilon = 0};
  }
  Found operator()(const nn::FtrlOptimizer& given) const {
    return nn::Ftrl{.options = options, .ftrl = given.ftrl};
  }
  template <class Other>
  Found operator()(const Other& /*given*/) const {
    return std::nullopt;
  }
};

// ---- losses and metrics
// --------------------------------------------------------------------------

// Writes the arguments of a loss or metric whose values are not Keras' defaults: what its class
// takes, in either Keras.
class FunctionWriter {
 public:
  FunctionWriter(std::string_view function, KerasJson usual)
      : function_(function), usual_(std::move(usual)) {}

  template <class Options>
  static KerasJson Of(std::string_view function, Options options) {
    FunctionWriter usual(function, KerasJson::object());
    Options().Visit(usual);
    FunctionWriter writer(function, usual.Take());
    options.Visit(writer);
    return writer.Take();
  }

  template <class T>
  void operator()(std::string_view key, T& value, const Field& /*field*/) {
    if constexpr (requires { Json(value); }) {
      if (!nn::IsKerasArgument(key) || !nn::KerasTakes(function_, key)) return;
      KerasJson json = Json(value);
      const auto usual = usual_.find(std::string(key));
      if (usual == usual_.end() || *usual != json) config_[std::string(key)] = std::move(json);
    }
  }

  [[nodiscard]] KerasJson Take() { return std::move(config_); }

 private:
  static KerasJson Json(bool value) { return value; }
  static KerasJson Json(int64_t value) { return value; }
  static KerasJson Json(double value) { return value; }
  static KerasJson Json(const std::string& value) { return value; }
  static KerasJson Json(const std::vector<double>& value) { return value; }
  static KerasJson Json(const std::vector<int64_t>& value) { return value; }
  template <class... Ts>
  static KerasJson Json(const std::variant<Ts...>& value) {
    return std::visit([](const auto& alternative) { return Json(alternative); }, value);
  }
  template <class T>
  static KerasJson Json(const std::optional<T>& value) {
    return value ? Json(*value) : KerasJson();
  }

  std::string_view function_;
  KerasJson usual_;
  KerasJson config_ = KerasJson::object();
};

KerasJson LossJson(const nn::KerasOutput& output) {
  if (!output.loss) return nullptr;
  const KerasFunctionClass* const known = FindKerasFunction(*output.loss);
  if (known == nullptr || known->loss.empty()) {
    throw NoWord{fmt::format("the loss {}", *output.loss)};
  }
  if (output.reduction != "sum_over_batch_size" && output.reduction != "sum") {
    throw NoWord{fmt::format("the reduction {}", output.reduction)};
  }
  KerasJson config = {{"name", std::string(known->function)}, {"reduction", output.reduction}};
  config.update(FunctionWriter::Of(known->function, output));
  return ObjectOf("keras.losses", known->loss, std::move(config));
}

// "accuracy" as what it is with the loss; where that does not say, Keras' word.
std::string_view AccuracyWith(std::string_view loss) {
  if (loss == "binary_crossentropy" || loss == "bce") return "binary_accuracy";
  if (loss == "sparse_categorical_crossentropy") return "sparse_categorical_accuracy";
  return "accuracy";
}

// Returns the name of a metric in results, without the output's name, which Keras prepends if there
// are several outputs.
std::string MetricName(const nn::KerasMetric& metric, const nn::KerasOutput& output, bool is_one) {
  const std::string name = metric.name.value_or(metric.fn);
  const std::string prefix = output.name + "_";
  return !is_one && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

KerasJson MetricJson(const nn::KerasMetric& metric, const nn::KerasOutput& output, bool is_one) {
  std::string_view function = metric.fn;
  const std::string name = MetricName(metric, output, is_one);
  const bool is_accuracy = function == "accuracy" || function == "acc";
  if (is_accuracy) {
    if (name == metric.fn) return metric.fn;
    function = AccuracyWith(output.loss.value_or(""));
  }
  const KerasFunctionClass* const known = FindKerasFunction(function);
  const bool is_class = nn::FindKerasMetricClass(function) != nullptr;
  if (!is_class && (known == nullptr || known->metric.empty())) {
    throw NoWord{fmt::format("the metric {}", metric.fn)};
  }
  const std::string_view class_name = is_class ? function : known->metric;
  KerasJson config = {{"name", name}};
  config.update(FunctionWriter::Of(is_class ? class_name : known->function, metric));
  // Keras' classes of positives call their threshold so.
  if (nn::KerasTakes(class_name, "thresholds") && config.contains("threshold")) {
    if (!config.contains("thresholds")) config["thresholds"] = config["threshold"];
    config.erase("threshold");
  }
  return ObjectOf("keras.metrics", class_name, std::move(config));
}

KerasJson ConfigOf(const nn::KerasHead& head, const nn::KerasOptimizer& optimizer,
                   const std::map<std::string, std::string>& layers) {
  KerasJson losses = KerasJson::object();
  KerasJson weights = KerasJson::object();
  KerasJson metrics = KerasJson::object();
  KerasJson weighted = KerasJson::object();
  bool is_weighted = false;
  bool has_weighted = false;
  const bool is_one = head.outputs.size() == 1;
  for (const nn::KerasOutput& output : head.outputs) {
    const auto layer = layers.find(output.name);
    const std::string name = KerasLayerName(layer == layers.end() ? output.name : layer->second);
    losses[name] = LossJson(output);
    weights[name] = output.loss_weight;
    is_weighted |= output.loss_weight != 1;
    metrics[name] = KerasJson::array();
    for (const nn::KerasMetric& metric : output.metrics) {
      metrics[name].push_back(MetricJson(metric, output, is_one));
    }
    weighted[name] = KerasJson::array();
    for (const nn::KerasMetric& metric : output.weighted_metrics) {
      weighted[name].push_back(MetricJson(metric, output, is_one));
      has_weighted = true;
    }
  }
  return {{"optimizer", OptimizerJson(optimizer)},
          {"loss", is_one ? losses.front() : losses},
          {"metrics", is_one ? metrics.front() : metrics},
          {"loss_weights",
           is_weighted ? (is_one ? KerasJson::array({weights.front()}) : weights) : KerasJson()},
          {"weighted_metrics", has_weighted ? (is_one ? weighted.front() : weighted) : KerasJson()},
          {"run_eagerly", false},
          {"jit_compile", false}};
}

}  // namespace

std::optional<nn::KerasOptimizer> KerasOptimizerLike(const nn::AnyOptimizer& optimizer) {
  return std::visit(
      [](const auto& given) -> std::optional<nn::KerasOptimizer> {
        const nn::GradientOptions& gradients = given.gradients;
        if (gradients.exponential_moving_average) return std::nullopt;
        if (gradients.gradient_accumulation_steps != 1) return std::nullopt;
        if (gradients.cross_shard_optimizer.reduction != "MEAN") return std::nullopt;
        return ToKeras{{.learning_rate = given.learning_rate,
                        .global_clipnorm = gradients.clip_by_global_norm}}(given);
      },
      optimizer);
}

std::optional<KerasJson> CompileConfigOf(const nn::KerasHead& head,
                                         const nn::KerasOptimizer& optimizer,
                                         const std::map<std::string, std::string>& layers,
                                         std::string& obstacle) {
  try {
    return ConfigOf(head, optimizer, layers);
  } catch (const NoWord& no_word) {
    obstacle = no_word.what;
    return std::nullopt;
  }
}

}  // namespace tpuest
