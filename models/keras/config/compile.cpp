#include "models/keras/config/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "models/keras/config/values.h"

namespace tpuest {
namespace {

// "Custom>Adam" without its package.
std::string ClassOf(const KerasJson& object) {
  const std::string name =
      object.is_string() ? object.get<std::string>() : WordOf(object, "class_name");
  return name.substr(name.find('>') + 1);
}

// ---- losses
// -----------------------------------------------------------------------------------------

const std::set<std::string, std::less<>> kLosses = {"mean_squared_error",
                                                    "mse",
                                                    "MSE",
                                                    "mean_absolute_error",
                                                    "mae",
                                                    "MAE",
                                                    "mean_absolute_percentage_error",
                                                    "mape",
                                                    "MAPE",
                                                    "mean_squared_logarithmic_error",
                                                    "msle",
                                                    "MSLE",
                                                    "huber",
                                                    "log_cosh",
                                                    "logcosh",
                                                    "hinge",
                                                    "squared_hinge",
                                                    "categorical_hinge",
                                                    "kl_divergence",
                                                    "kld",
                                                    "KLD",
                                                    "kullback_leibler_divergence",
                                                    "poisson",
                                                    "cosine_similarity",
                                                    "cosine_proximity",
                                                    "binary_crossentropy",
                                                    "bce",
                                                    "categorical_crossentropy",
                                                    "binary_focal_crossentropy",
                                                    "categorical_focal_crossentropy",
                                                    "sparse_categorical_crossentropy"};

// The function that a class computes: "BinaryCrossentropy" is binary_crossentropy.
std::string FunctionOfClass(const std::string& name) {
  if (name == "KLDivergence") return "kl_divergence";
  if (name == "LogCoshError") return "log_cosh";
  if (name == "huber_loss") return "huber";
  if (name.empty() || name.front() < 'A' || name.front() > 'Z' || kLosses.contains(name))
    return name;
  return KerasSnakeCase(name);
}

void PutArgument(const KerasJson& config, std::string_view key, const KerasJson& usual,
                 KerasJson& section) {
  const KerasJson value = ShortNumbers(MemberOf(config, key));
  if (value.is_null() || value == usual) return;
  section[std::string(key)] = value;
}

// The entry of an output in what is one for all, a list in the outputs' order, or a dict.
KerasJson EntryOf(const KerasJson& given, const std::string& output, size_t number,
                  size_t outputs) {
  const bool is_object_of_class = given.is_object() && given.contains("class_name");
  if (given.is_object() && !is_object_of_class) return MemberOf(given, output);
  if (given.is_array()) return number < given.size() ? given[number] : KerasJson();
  return number == 0 || outputs > 1 ? given : KerasJson();
}

class CompileReader {
 public:
  CompileReader(const KerasFile& file, const std::map<std::string, std::string>& names,
                KerasJob& job)
      : training_(file.training()), place_(file.name()), names_(names), job_(job) {}

  void Read() {
    KerasJson outputs = KerasJson::array();
    for (size_t i = 0; i < job_.outputs.size(); ++i) outputs.push_back(Output(i));
    CheckNames();
    job_.head = {{"type", "compile"}, {"outputs", std::move(outputs)}};
    ReadOptimizer();
  }

 private:
  KerasJson Output(size_t number) {
    const std::string& name = job_.outputs[number];
    KerasJson section = {{"name", name}};
    const KerasJson loss = EntryOf(MemberOf(training_, "loss"), name, number, job_.outputs.size());
    Loss(loss, section);
    const KerasJson weight =
        EntryOf(MemberOf(training_, "loss_weights"), name, number, job_.outputs.size());
    if (weight.is_number() && weight != 1.0) section["loss_weight"] = ShortNumbers(weight);
    KerasJson metrics = KerasJson::array();
    for (const KerasJson& metric : MetricsOf(name, number)) {
      const KerasJson made = Metric(metric, name, WordOf(section, "loss"));
      if (!made.is_null()) metrics.push_back(made);
    }
    if (!metrics.empty()) section["metrics"] = std::move(metrics);
    return section;
  }

  void Loss(const KerasJson& loss, KerasJson& section) {
    if (loss.is_null()) return;
    const KerasJson& config = MemberOf(loss, "config");
    std::string function = FunctionOfClass(ClassOf(loss));
    if (function == "function" && config.is_string()) function = config.get<std::string>();
    if (function == "loss_function_wrapper") function = WordOf(config, "fn");
    if (!kLosses.contains(function)) {
      Note(
          fmt::format("the loss '{}' is none of Keras' own: the model predicts and does not train "
                      "without a head of the job's",
                      function));
      return;
    }
    section["loss"] = function;
    if (!config.is_object()) return;
    PutArgument(config, "from_logits", false, section);
    PutArgument(config, "label_smoothing", 0.0, section);
    if (section.contains("label_smoothing") && section["label_smoothing"] == 0) {
      section.erase("label_smoothing");
    }
    if (function == "huber") PutArgument(config, "delta", 1.0, section);
    if (function.ends_with("focal_crossentropy")) {
      PutArgument(config, "gamma", 2.0, section);
      PutArgument(config, "alpha", 0.25, section);
      PutArgument(config, "apply_class_balancing", false, section);
    }
    if (WordOf(config, "reduction") == "sum") section["reduction"] = "sum";
    if (WordOf(config, "reduction") == "none") {
      Note("a loss without reduction is not known here: its mean is taken");
    }
  }

  // ---- metrics ----------------------------------------------------------------------------------

  KerasJson MetricsOf(const std::string& output, size_t number) const {
    const KerasJson& given = MemberOf(training_, "metrics");
    if (given.is_null()) return KerasJson::array();
    const bool is_nested = given.is_array() && !given.empty() && given.front().is_array();
    KerasJson metrics;
    if (given.is_object() && !given.contains("class_name")) {
      metrics = MemberOf(given, output);
    } else if (is_nested) {
      metrics = number < given.size() ? given[number] : KerasJson();
    } else {
      metrics = given;  // one list is every output's
    }
    if (metrics.is_null()) return KerasJson::array();
    return metrics.is_array() ? metrics : KerasJson::array({metrics});
  }

  KerasJson Metric(const KerasJson& metric, const std::string& output, const std::string& loss) {
    if (metric.is_null()) return nullptr;
    const KerasJson& config = MemberOf(metric, "config");
    std::string fn = ClassOf(metric);
    if (fn == "function" && config.is_string()) fn = config.get<std::string>();
    if (fn == "MeanMetricWrapper") {
      fn = MemberOf(config, "fn").is_string() ? WordOf(config, "fn")
                                              : WordOf(MemberOf(config, "fn"), "config");
    }
    static const std::set<std::string, std::less<>> kClasses = {
        "AUC",           "Precision",     "Recall",         "RootMeanSquaredError",
        "TruePositives", "TrueNegatives", "FalsePositives", "FalseNegatives"};
    if (!kClasses.contains(fn)) fn = FunctionOfClass(fn);
    static const std::set<std::string, std::less<>> kMeans = {"accuracy",
                                                              "acc",
                                                              "crossentropy",
                                                              "ce",
                                                              "binary_accuracy",
                                                              "categorical_accuracy",
                                                              "sparse_categorical_accuracy",
                                                              "top_k_categorical_accuracy",
                                                              "sparse_top_k_categorical_accuracy"};
    if (!kClasses.contains(fn) && !kMeans.contains(fn) && !kLosses.contains(fn)) {
      Note(fmt::format("the metric '{}' is not known here and left out", fn));
      return nullptr;
    }
    std::string name = WordOf(config, "name");
    if (name.empty()) name = metric.is_string() ? metric.get<std::string>() : fn;
    const std::string prefix = output + "_";
    const bool several = job_.outputs.size() > 1;
    const std::string bare =
        several && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    // Keras writes the accuracy of a model that never saw labels as the categorical one.
    const bool is_accuracy = bare == "accuracy" || bare == "acc";
    if (is_accuracy && fn == "categorical_accuracy" && loss == "sparse_categorical_crossentropy") {
      fn = "accuracy";
    }
    if (several && bare == name) name = prefix + name;
    return Named(fn, NewName(name), config);
  }

  // The name for results: a second equal one is <name>_1; then the map's.
  std::string NewName(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !metrics_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    const auto mapped = names_.find(name);
    return mapped == names_.end() ? name : mapped->second;
  }

  KerasJson Named(const std::string& fn, const std::string& name, const KerasJson& config) {
    KerasJson section = {{"fn", fn}};
    if (name != fn || job_.outputs.size() > 1) section["name"] = name;
    if (fn == "binary_accuracy") PutArgument(config, "threshold", 0.5, section);
    if (fn.find("top_k") != std::string::npos) PutArgument(config, "k", 5, section);
    if (fn.find("crossentropy") != std::string::npos) {
      PutArgument(config, "from_logits", false, section);
      PutArgument(config, "label_smoothing", 0.0, section);
    }
    if (fn == "AUC") {
      PutArgument(config, "curve", "ROC", section);
      PutArgument(config, "summation_method", "interpolation", section);
      PutArgument(config, "num_thresholds", 200, section);
      if (MemberOf(config, "multi_label") == true || MemberOf(config, "from_logits") == true) {
        Note(fmt::format("the metric '{}': multi_label and from_logits are not known here", name));
      }
    }
    if (section.contains("label_smoothing") && section["label_smoothing"] == 0) {
      section.erase("label_smoothing");
    }
    return section;
  }

  void CheckNames() const {
    if (names_.empty()) return;
    std::vector<std::string> missing;
    std::vector<std::string> unexpected;
    for (const std::string& metric : metrics_) {
      if (!names_.contains(metric)) missing.push_back(metric);
    }
    for (const auto& [name, mapped] : names_) {
      if (!metrics_.contains(name)) unexpected.push_back(name);
    }
    const auto list = [](const std::vector<std::string>& names) {
      return names.empty() ? std::string("[]") : "['" + Join(names, "', '") + "']";
    };
    if (!missing.empty()) {
      throw Error(Code::kUsage,
                  fmt::format("Invalid `metric_names_map`. The following keras model metric names:"
                              "\"{}\" do not exist in the `metric_names_map` dictionary",
                              list(missing)),
                  "metric_names_map: {" + missing.front() + ": NAME}")
          .Key("model.metric_names_map");
    }
    if (unexpected.empty()) return;
    throw Error(Code::kUsage,
                fmt::format("Invalid `metric_names_map`. There are unexpected keys in the "
                            "`metric_names_map` dictionary. Expected keys: {}, Received: {}",
                            list({metrics_.begin(), metrics_.end()}), list(unexpected)),
                "leave out those that the model does not have")
        .Key("model.metric_names_map");
  }

  // ---- optimizer --------------------------------------------------------------------------------

  struct OptimizerRule {
    std::string_view name;
    std::array<std::string_view, 7> keys = {};
  };

  void ReadOptimizer() {
    const KerasJson& given = training_.contains("optimizer_config")
                                 ? MemberOf(training_, "optimizer_config")
                                 : MemberOf(training_, "optimizer");
    if (given.is_null()) return;
    static constexpr std::array kOptimizers = {
        OptimizerRule{"SGD", {"momentum", "nesterov"}},
        OptimizerRule{"Adam", {"beta_1", "beta_2", "epsilon"}},
        OptimizerRule{"RMSprop", {"rho", "momentum", "epsilon", "centered"}},
        OptimizerRule{"Adagrad", {"initial_accumulator_value", "epsilon"}},
        OptimizerRule{
            "Ftrl",
            {"learning_rate_power", "initial_accumulator_value", "l1_regularization_strength",
             "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta"}}};
    const std::string name = ClassOf(given);
    const auto same = [&](std::string_view known) {
      return std::equal(known.begin(), known.end(), name.begin(), name.end(),
                        [](char a, char b) { return std::tolower(a) == std::tolower(b); });
    };
    for (const OptimizerRule& rule : kOptimizers) {
      if (!same(rule.name)) continue;
      job_.optimizer = {{"type", rule.name}};
      const KerasJson& config = MemberOf(given, "config");
      AddRate(config);
      for (const std::string_view key : {"decay", "clipvalue", "clipnorm", "global_clipnorm"}) {
        PutArgument(config, key, nullptr, job_.optimizer);
      }
      if (job_.optimizer.contains("decay") && job_.optimizer["decay"] == 0) {
        job_.optimizer.erase("decay");
      }
      for (const std::string_view key : rule.keys) {
        if (!key.empty()) PutArgument(config, key, nullptr, job_.optimizer);
      }
      NoteDropped(config);
      return;
    }
    Note(fmt::format("the optimizer '{}' is not known here: `optimizer` of the job says another",
                     name));
  }

  void AddRate(const KerasJson& config) {
    const KerasJson& rate = MemberOf(config, "learning_rate").is_null()
                                ? MemberOf(config, "lr")
                                : MemberOf(config, "learning_rate");
    if (rate.is_number()) job_.optimizer["learning_rate"] = ShortNumbers(rate);
    if (!rate.is_object()) return;
    struct ScheduleRule {
      std::string_view keras;
      std::string_view type;
      std::array<std::string_view, 5> keys;
    };
    static constexpr std::array kSchedules = {
        ScheduleRule{
            "ExponentialDecay", "exponential_decay", {"decay_steps", "decay_rate", "staircase"}},
        ScheduleRule{
            "InverseTimeDecay", "inverse_time_decay", {"decay_steps", "decay_rate", "staircase"}},
        ScheduleRule{"PolynomialDecay",
                     "polynomial_decay",
                     {"decay_steps", "end_learning_rate", "power", "cycle"}},
        ScheduleRule{"PiecewiseConstantDecay", "piecewise_constant", {"boundaries", "values"}},
        ScheduleRule{"CosineDecay", "cosine_decay", {"decay_steps", "alpha"}},
        ScheduleRule{"CosineDecayRestarts",
                     "cosine_decay_restarts",
                     {"first_decay_steps", "t_mul", "m_mul", "alpha"}}};
    const KerasJson& options = MemberOf(rate, "config");
    const std::string name = ClassOf(rate);
    for (const ScheduleRule& rule : kSchedules) {
      if (rule.keras != name) continue;
      KerasJson schedule = {{"type", rule.type}};
      const KerasJson& initial = MemberOf(options, "initial_learning_rate");
      if (!initial.is_null()) schedule["learning_rate"] = ShortNumbers(initial);
      for (const std::string_view key : rule.keys) {
        if (!key.empty()) PutArgument(options, key, nullptr, schedule);
      }
      job_.optimizer["learning_rate"] = std::move(schedule);
      return;
    }
    Note(fmt::format("the schedule '{}' is not known here: the optimizer's own rate is taken",
                     name));
  }

  // What model_to_estimator drops where it makes a legacy optimizer of a new one.
  void NoteDropped(const KerasJson& config) {
    for (const std::string_view key : {"weight_decay", "use_ema", "amsgrad"}) {
      const KerasJson& value = MemberOf(config, key);
      if (value.is_null() || value == false || value == 0) continue;
      Note(fmt::format("the optimizer's {} is left out{}", key,
                       key == "amsgrad" ? "" : ", as by model_to_estimator"));
    }
  }

  void Note(const std::string& note) { job_.notes.push_back(place_ + ": " + note); }

  const KerasJson& training_;
  std::string place_;
  const std::map<std::string, std::string>& names_;
  KerasJob& job_;
  std::set<std::string> metrics_;  // the names that results have without a map
};

}  // namespace

void AddCompiled(const KerasFile& file, const std::map<std::string, std::string>& metric_names_map,
                 KerasJob& job) {
  if (!file.training().is_object() || file.training().empty()) return;
  CompileReader(file, metric_names_map, job).Read();
}

}  // namespace tpuest
