#include "models/keras/config/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/nn/heads/keras_head.h"
#include "models/keras/config/arguments.h"
#include "models/keras/config/optimizer.h"
#include "models/keras/config/values.h"
#include "models/keras/function_classes.h"

namespace tpuest {
namespace {

// Writes the arguments that a loss or metric has in Keras and whose values are not Keras' defaults.
class FunctionArguments {
 public:
  FunctionArguments(std::string_view function, KerasConfig& config)
      : function_(function), config_(config) {}

  template <class T>
  void operator()(std::string_view key, T& value, const Field& field) {
    if constexpr (ReadableArgument<T>) {
      if (!nn::IsKerasArgument(key) || !nn::KerasTakes(function_, key)) return;
      const KerasJson given = ShortNumbers(Unwrapped(config_.Take(key)));
      if (given.is_null()) return;
      const KerasJson read = ValueFor(value, key, given, field);
      if (read != UsualOf(value)) section_[std::string(key)] = read;
    }
  }

  [[nodiscard]] KerasJson Take() {
    // Keras counts its own two thresholds as well.
    if (section_.contains("thresholds")) section_.erase("num_thresholds");
    // The threshold that `null` stands for, except in the F scores.
    const auto threshold = section_.find("threshold");
    const bool is_score = nn::KerasTakes(function_, "average");
    if (threshold != section_.end() && *threshold == 0.5 && !is_score) section_.erase(threshold);
    return std::move(section_);
  }

 private:
  template <class T>
  static KerasJson UsualOf(const T& value) {
    if constexpr (std::is_constructible_v<KerasJson, const T&>) return value;
    return nullptr;
  }
  template <class T>
  static KerasJson UsualOf(const std::optional<T>& /*value*/) {
    return nullptr;
  }

  std::string_view function_;
  KerasConfig& config_;
  KerasJson section_ = KerasJson::object();
};

template <class Options>
KerasJson ArgumentsOf(std::string_view function, KerasConfig& config) {
  FunctionArguments arguments(function, config);
  Options usual;
  usual.Visit(arguments);
  return arguments.Take();
}

// Names the metrics of a model as Keras does, and renames them by a metric_names_map.
class MetricNames {
 public:
  // `outputs` are the names of predictions, `layers` the names of the layers that give them. All
  // arguments outlive this object.
  MetricNames(const std::vector<std::string>& outputs, const std::vector<std::string>& layers,
              const std::map<std::string, std::string>& renamed)
      : outputs_(outputs), layers_(layers), renamed_(renamed) {}

  // Returns a metric's name without the output's name, which Keras puts before it.
  [[nodiscard]] std::string BareName(const std::string& name, size_t number) const {
    if (outputs_.size() == 1) return name;
    for (const std::string& output : {outputs_[number], layers_[number]}) {
      if (name.starts_with(output + "_")) return name.substr(output.size() + 1);
    }
    return name;
  }

  // Returns the metric's name in results: <name>_1 or weighted_<name> if the name is taken; then
  // the map's name for it.
  std::string Add(const std::string& bare, size_t number, bool weighted) {
    const std::string prefix = outputs_.size() > 1 ? outputs_[number] + "_" : "";
    std::string wanted = prefix + bare;
    if (weighted && metrics_.contains(wanted)) wanted = prefix + "weighted_" + bare;
    std::string name = wanted;
    for (int i = 1; !metrics_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    const auto mapped = renamed_.find(name);
    return mapped == renamed_.end() ? name : mapped->second;
  }

  // Throws Error kUsage, in TensorFlow's words, unless the map has exactly the metrics added so
  // far.
  void CheckMap() const {
    if (renamed_.empty()) return;
    std::vector<std::string> missing;
    std::vector<std::string> unexpected;
    for (const std::string& metric : metrics_) {
      if (!renamed_.contains(metric)) missing.push_back(metric);
    }
    for (const auto& [name, mapped] : renamed_) {
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
                "remove those that the model does not have")
        .Key("model.metric_names_map");
  }

 private:
  const std::vector<std::string>& outputs_;
  const std::vector<std::string>& layers_;
  const std::map<std::string, std::string>& renamed_;
  std::set<std::string> metrics_;  // the names without the map
};

// Reads what a model was compiled with into the head and the optimizer of a job.
class CompileReader {
 public:
  CompileReader(const KerasFile& file, const KerasOutputs& outputs,
                const std::map<std::string, std::string>& names, KerasJob& job)
      : training_(file.training()),
        place_(file.name() + ": compile"),
        outputs_(outputs),
        job_(job),
        metric_names_(job.outputs, outputs.layers, names) {}

  void Read() {
    KerasConfig compile(training_);
    compile.Ignore(
        {"optimizer", "optimizer_config", "loss", "loss_weights", "metrics", "weighted_metrics"});
    // How steps run, not what they compute.
    compile.Ignore({"run_eagerly", "steps_per_execution", "jit_compile", "auto_scale_loss",
                    "pss_evaluation_shards"});
    Try(job_.head_faults, "", kHeadHint, [&] { compile.Finish(); });
    KerasJson outputs = KerasJson::array();
    for (size_t i = 0; i < job_.outputs.size(); ++i) outputs.push_back(Output(i));
    for (const char* const key : {"loss", "loss_weights", "metrics", "weighted_metrics"}) {
      CheckOutputs(key);
    }
    if (has_unknown_loss_) {
      for (KerasJson& output : outputs) output.erase("loss");
    }
    metric_names_.CheckMap();
    job_.head = {{"type", "compile"}, {"outputs", std::move(outputs)}};
    ReadOptimizer();
  }

 private:
  static constexpr std::string_view kHeadHint =
      "a `head` of the job's model replaces it: head: {type: compile, outputs: [{name: OUTPUT, "
      "loss: mse}]}";

  // Runs a part; what it refuses is a fault of that part.
  template <class Part>
  void Try(std::vector<Fault>& faults, const std::string& where, std::string_view hint,
           const Part& part) {
    try {
      part();
    } catch (const KerasRefusal& refusal) {
      faults.push_back({.message = fmt::format("{}{}{}: {}", place_, where.empty() ? "" : ": ",
                                               where, refusal.message),
                        .hint = refusal.hint.empty() ? std::string(hint)
                                                     : fmt::format("{}; {}", refusal.hint, hint)});
    }
  }

  // The entry of an output in what is one for all, a list in the outputs' order, or a dict by the
  // outputs' names or by those of their layers.
  KerasJson EntryOf(const KerasJson& given, size_t number) const {
    const bool is_class = given.is_object() && given.contains("class_name");
    if (given.is_object() && !is_class) {
      const KerasJson& by_name = MemberOf(given, job_.outputs[number]);
      return by_name.is_null() ? MemberOf(given, outputs_.layers[number]) : by_name;
    }
    if (given.is_array()) return number < given.size() ? given[number] : KerasJson();
    return given;
  }

  // Refuses what is said of no output.
  void CheckOutputs(const std::string& key) {
    const KerasJson& given = MemberOf(training_, key);
    Try(job_.head_faults, key, kHeadHint, [&] {
      const bool is_list = given.is_array() && (key == "loss" || key == "loss_weights");
      if (is_list && given.size() > job_.outputs.size()) {
        RefuseKeras(fmt::format("it is a list of {}, but the model has {} outputs", given.size(),
                                job_.outputs.size()));
      }
      if (!given.is_object() || given.contains("class_name")) return;
      for (const auto& [name, value] : given.items()) {
        const auto is_of = [&name = name](const std::vector<std::string>& names) {
          return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (value.is_null() || is_of(job_.outputs) || is_of(outputs_.layers)) continue;
        RefuseKeras(fmt::format("the model has no output '{}'", name),
                    "it has: " + Join(job_.outputs, ", "));
      }
    });
  }

  KerasJson Output(size_t number) {
    KerasJson section = {{"name", job_.outputs[number]}};
    const KerasJson loss = EntryOf(MemberOf(training_, "loss"), number);
    Try(job_.head_faults, fmt::format("loss ({})", KerasClassOf(loss)), kHeadHint,
        [&] { Loss(loss, section); });
    const KerasJson weight = EntryOf(MemberOf(training_, "loss_weights"), number);
    if (!weight.is_null() && !weight.is_number()) {
      Try(job_.head_faults, "loss_weights", kHeadHint,
          [&] { RefuseKeras(fmt::format("{} is not a number", weight.dump())); });
    }
    if (weight.is_number() && weight != 1.0) section["loss_weight"] = ShortNumbers(weight);
    for (const bool weighted : {false, true}) {
      const std::string key = weighted ? "weighted_metrics" : "metrics";
      KerasJson metrics = KerasJson::array();
      for (const KerasJson& metric : MetricsOf(key, number)) {
        Try(job_.head_faults, fmt::format("{} ({})", key, KerasClassOf(metric)), kHeadHint, [&] {
          const KerasJson made = Metric(metric, number, WordOf(section, "loss"), weighted);
          if (!made.is_null()) metrics.push_back(made);
        });
      }
      if (!metrics.empty()) section[key] = std::move(metrics);
    }
    return section;
  }

  // The name of a function in what wraps it.
  static std::string WrappedIn(const KerasJson& fn) {
    return fn.is_string() ? fn.get<std::string>() : WordOf(fn, "config");
  }

  void Loss(const KerasJson& loss, KerasJson& section) {
    if (loss.is_null()) return;
    const KerasJson& options = MemberOf(loss, "config");
    std::string function = KerasFunctionIn(KerasClassOf(loss));
    if (function == "function" && options.is_string()) function = options.get<std::string>();
    if (function == "loss_function_wrapper") function = WrappedIn(MemberOf(options, "fn"));
    const KerasFunctionClass* const known = FindKerasFunction(function);
    if (known == nullptr || known->loss.empty()) {
      Note(
          fmt::format("the loss '{}' is not one of Keras' own: the model predicts, but trains only "
                      "with a head in the job",
                      function));
      has_unknown_loss_ = true;
      return;
    }
    section["loss"] = function;
    if (!options.is_object()) return;
    KerasConfig config(options);
    config.Ignore({"name", "fn", "dtype"});
    section.update(ArgumentsOf<nn::KerasOutput>(function, config));
    if (options.contains("reduction")) Reduction(config.Take("reduction"), section);
    config.Finish();
  }

  static void Reduction(const KerasJson& given, KerasJson& section) {
    const std::string name = given.is_string() ? given.get<std::string>() : "";
    if (given.is_null()) RefuseKeras("reduction is null: the loss is not one number");
    if (name == "auto" || name == "sum_over_batch_size" || name == "mean") return;
    if (name == "sum") {
      section["reduction"] = "sum";
    } else if (name == "mean_with_sample_weight") {
      section["reduction"] = "mean";
    } else {
      RefuseKeras(
          fmt::format("reduction is {}, expected sum_over_batch_size or sum", given.dump()));
    }
  }

  // ---- metrics ----------------------------------------------------------------------------------

  KerasJson MetricsOf(const std::string& key, size_t number) const {
    const KerasJson& given = MemberOf(training_, key);
    if (given.is_null()) return KerasJson::array();
    const bool is_nested =
        given.is_array() && std::any_of(given.begin(), given.end(),
                                        [](const KerasJson& one) { return one.is_array(); });
    // Keras 3 takes a list for one entry an output; before, each output had all of it.
    const bool is_by_output = outputs_.is_keras3 && given.is_array() && job_.outputs.size() > 1;
    const bool is_dict = given.is_object() && !given.contains("class_name");
    const KerasJson metrics = is_dict || is_nested || is_by_output ? EntryOf(given, number) : given;
    if (metrics.is_null()) return KerasJson::array();
    return metrics.is_array() ? metrics : KerasJson::array({metrics});
  }

  KerasJson Metric(const KerasJson& metric, size_t number, const std::string& loss, bool weighted) {
    if (metric.is_null()) return nullptr;
    const KerasJson& options = MemberOf(metric, "config");
    std::string fn = KerasClassOf(metric);
    if (fn == "function" && options.is_string()) fn = options.get<std::string>();
    if (fn == "MeanMetricWrapper") fn = WrappedIn(MemberOf(options, "fn"));
    const bool is_class = nn::FindKerasMetricClass(fn) != nullptr;
    if (!is_class) fn = KerasFunctionIn(fn);
    static const std::set<std::string, std::less<>> kByOutput = {"accuracy", "acc", "crossentropy",
                                                                 "ce"};
    if (!is_class && !kByOutput.contains(fn) && FindKerasFunction(fn) == nullptr) {
      Note(fmt::format("the metric '{}' is not supported and is dropped", fn));
      return nullptr;
    }
    std::string name = WordOf(options, "name");
    if (name.empty()) name = metric.is_string() ? metric.get<std::string>() : fn;
    const std::string bare = metric_names_.BareName(name, number);
    // Keras writes the accuracy of a model that never saw labels as the categorical one.
    const bool is_accuracy = bare == "accuracy" || bare == "acc";
    if (is_accuracy && fn == "categorical_accuracy" && loss == "sparse_categorical_crossentropy") {
      fn = "accuracy";
    }
    name = metric_names_.Add(bare, number, weighted);
    KerasJson section = {{"fn", fn}};
    if (name != fn || job_.outputs.size() > 1) section["name"] = name;
    if (!options.is_object()) return section;
    KerasConfig config(options);
    config.Ignore({"name", "fn", "dtype"});
    section.update(ArgumentsOf<nn::KerasMetric>(fn, config));
    config.Expect("multi_label", false);                    // of AUC
    config.Expect("class_aggregation", "uniform_average");  // of R2Score
    config.Expect("num_regressors", 0);
    config.Finish();
    return section;
  }

  // ---- optimizer --------------------------------------------------------------------------------

  void ReadOptimizer() {
    const KerasJson& given = training_.contains("optimizer_config")
                                 ? MemberOf(training_, "optimizer_config")
                                 : MemberOf(training_, "optimizer");
    if (given.is_null()) return;
    std::vector<std::string> notes;
    Try(job_.optimizer_faults, fmt::format("optimizer ({})", KerasClassOf(given)),
        "an `optimizer` of the job replaces it: optimizer: {type: Adam}",
        [&] { job_.optimizer = KerasOptimizerOf(given, notes); });
    for (const std::string& note : notes) Note("the optimizer's " + note);
  }

  void Note(const std::string& note) { job_.notes.push_back(place_ + ": " + note); }

  const KerasJson& training_;
  std::string place_;
  const KerasOutputs& outputs_;
  KerasJob& job_;
  MetricNames metric_names_;
  bool has_unknown_loss_ = false;
};

}  // namespace

void AddCompiled(const KerasFile& file, const KerasOutputs& outputs,
                 const std::map<std::string, std::string>& metric_names_map, KerasJob& job) {
  if (!file.training().is_object() || file.training().empty()) return;
  CompileReader(file, outputs, metric_names_map, job).Read();
}

}  // namespace tpuest
