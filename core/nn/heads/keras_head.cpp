#include "core/nn/heads/keras_head.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/nn/job_place.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

constexpr const char* kRealRows = "example_weight";

// Numbers of examples [batch, ...] as rows [batch, n].
Value Rows(Value x) {
  if (x.shape().rank() == 1) return ops::ExpandDims(x, -1);
  return x.shape().rank() == 2 ? x : ops::FlattenRows(x);
}

std::string PythonSet(const std::vector<std::string>& names) {
  return names.empty() ? "set()" : "{'" + Join(names, "', '") + "'}";
}

// Adds up what the outputs give.
class KerasBuilder {
 public:
  KerasBuilder(const KerasHead& head, const HeadInputs& inputs) : head_(head), inputs_(inputs) {}

  HeadOutputs Build() {
    for (const KerasOutput& output : head_.outputs) {
      built_.predictions[output.name] = ops::Cast(Given(output), DType::kFloat);
    }
    built_.export_outputs[kDefaultSignature] = {ExportKind::kPredict, built_.predictions};
    if (!inputs_.labels.valid()) return std::move(built_);
    CheckLabelNames();
    if (inputs_.example_weight.valid()) {
      built_.metric_tensors[kRealRows] = ops::ExpandDims(inputs_.example_weight, -1);
    }
    for (const KerasOutput& output : head_.outputs) {
      AtPlace(output.place, [&] { Add(output); });
    }
    SetLoss();
    return std::move(built_);
  }

 private:
  Value Given(const KerasOutput& output) const {
    const auto found = inputs_.logits_by_head.find(output.name);
    if (found != inputs_.logits_by_head.end()) return found->second;
    Check(inputs_.logits_by_head.empty(), "output '{}' has no tensor", output.name);
    return inputs_.logits;
  }

  void CheckLabelNames() const {
    if (!inputs_.labels.is_dict()) {
      if (head_.outputs.size() == 1) return;
      throw Error(Code::kUsage, "a model with several outputs takes labels by output name",
                  "labels: {OUTPUT: COLUMN, ...} in the input_fn");
    }
    std::vector<std::string> expected;
    std::vector<std::string> missed;
    for (const KerasOutput& output : head_.outputs) {
      expected.push_back(output.name);
      if (inputs_.labels.Find(output.name) == nullptr) missed.push_back(output.name);
    }
    if (missed.empty()) return;
    throw Error(
        Code::kUsage,
        fmt::format("The dictionary passed into labels does not cover requested outputs "
                    "keys defined in the keras model.\n\tExpected keys: {}\n\tlabels keys: "
                    "{}\n\tMissed keys: {}",
                    PythonSet(expected), PythonSet(inputs_.labels.names()), PythonSet(missed)),
        fmt::format("labels: {{{}: COLUMN}} in the input_fn", missed.front()));
  }

  Value LabelOf(const KerasOutput& output) const {
    if (!inputs_.labels.is_dict()) return inputs_.labels.only();
    return *inputs_.labels.Find(output.name);
  }

  void Add(const KerasOutput& output) {
    const NameScope scope(inputs_.logits.graph(), output.name);
    const Value predictions = ops::Cast(Given(output), DType::kFloat);
    if (!predictions.shape().known_rank() || predictions.shape().rank() < 2) {
      throw Error(Code::kUsage, fmt::format("output '{}' is {}, expected [batch, ...]", output.name,
                                            predictions.shape().Text()));
    }
    if (output.loss) {
      const std::string loss = KerasFunctionOf(*output.loss, "", predictions);
      const Value labels = KerasLabels(LabelOf(output), predictions, loss);
      AddLoss(output, Rows(KerasFunction(loss, labels, predictions, output.arguments)),
              KerasMask(loss, labels, output.arguments));
    }
    for (const KerasMetric& metric : output.metrics) {
      AtPlace(metric.place, [&] { AddMetric(output, metric, predictions, /*weighted=*/false); });
    }
    for (const KerasMetric& metric : output.weighted_metrics) {
      AtPlace(metric.place, [&] { AddMetric(output, metric, predictions, /*weighted=*/true); });
    }
  }

  // `mask`: the losses that count; not valid(): all.
  void AddLoss(const KerasOutput& output, Value losses, Value mask) {
    const auto real = built_.metric_tensors.find(kRealRows);
    const Value rows = real == built_.metric_tensors.end() ? Value() : real->second;
    const Value loss =
        ReduceLoss(losses,
                   {.weights = WeightsOf(output),
                    .example_weight = ProductOfWeights(rows, mask.valid() ? Rows(mask) : mask),
                    .replicas = inputs_.replicas},
                   ParseLossReduction(output.reduction));
    losses_.push_back(output.loss_weight == 1 ? loss : ops::Mul(loss, output.loss_weight));
    rows_ = losses;
  }

  Value WeightsOf(const KerasOutput& output) const {
    return WeightColumn(output.weight_column.value_or(""), inputs_, false);
  }

  // A name for results; a second of the same is <name>_1, or weighted_<name>.
  std::string NameFor(const KerasOutput& output, const KerasMetric& metric, bool weighted) {
    const std::string prefix = head_.outputs.size() > 1 ? output.name + "_" : "";
    std::string wanted = metric.name.value_or(prefix + metric.fn);
    if (weighted && built_.metrics.contains(wanted)) {
      wanted = prefix + "weighted_" +
               (wanted.starts_with(prefix) ? wanted.substr(prefix.size()) : wanted);
    }
    std::string name = wanted;
    for (int i = 1; built_.metrics.contains(name); ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  void AddMetric(const KerasOutput& output, const KerasMetric& metric, Value predictions,
                 bool weighted) {
    const std::string name = NameFor(output, metric, weighted);
    const std::string tensor = "metric/" + name;
    Value own = weighted ? WeightsOf(output) : Value();
    const KerasMetricClass* const known = FindKerasMetricClass(metric.fn);
    if (known != nullptr) {
      const KerasMeasured measured = known->measured(metric, predictions, LabelOf(output));
      built_.metric_tensors[tensor] = Rows(measured.predictions);
      if (measured.labels.valid()) {
        built_.metric_tensors[tensor + "/labels"] = Rows(measured.labels);
      }
    } else {
      const std::string fn = KerasFunctionOf(metric.fn, output.loss.value_or(""), predictions);
      const Value labels = KerasLabels(LabelOf(output), predictions, fn);
      Value values = KerasFunction(fn, labels, predictions, metric.arguments);
      // As a metric it is the cosine itself, as a loss minus that.
      if (fn == "cosine_similarity") values = ops::Neg(values);
      built_.metric_tensors[tensor] = Rows(values);
      const Value mask = KerasMask(fn, labels, metric.arguments);
      if (mask.valid()) own = ProductOfWeights(own, Rows(mask));
    }
    if (own.valid()) built_.metric_tensors[tensor + "/weights"] = own;
    built_.metrics[name] = [=](Graph& graph, const Tensors& t) {
      const auto given = [&](const std::string& key) {
        const auto found = t.find(key);
        return found == t.end() ? Value() : found->second;
      };
      const Value weights = ProductOfWeights(given(tensor + "/weights"), given(kRealRows));
      if (known == nullptr) return MeanMetric(graph, name, t.at(tensor), weights);
      return known->build(graph, name, metric, t.at(tensor), given(tensor + "/labels"), weights);
    };
  }

  void SetLoss() {
    if (losses_.empty()) {
      throw Error(Code::kUsage, "no output has a loss", "outputs: [{name: LAYER, loss: mse}]");
    }
    for (const Value loss : inputs_.regularization_losses) losses_.push_back(loss);
    built_.loss = losses_.size() == 1 ? losses_.front() : ops::AddN(losses_, "loss");
    // Evaluation counts the examples of a batch by what it is given of it.
    built_.metric_tensors["losses"] = rows_;
  }

  const KerasHead& head_;
  const HeadInputs& inputs_;
  HeadOutputs built_;
  std::vector<Value> losses_;
  Value rows_;
};

// The arguments of functions that a struct has, by key, as texts that are equal where the values
// are.
class ArgumentTexts {
 public:
  template <class Options>
  static std::map<std::string_view, std::string> Of(Options options) {
    ArgumentTexts texts;
    options.Visit(texts);
    return texts.texts_;
  }

  template <class T>
  void operator()(std::string_view key, T& value, const Field& /*field*/) {
    if (!IsKerasArgument(key)) return;
    if constexpr (requires { TextOf(value); }) texts_[key] = TextOf(value);
  }

 private:
  static std::string TextOf(const std::string& value) { return value; }
  static std::string TextOf(bool value) { return value ? "true" : "false"; }
  static std::string TextOf(int64_t value) { return std::to_string(value); }
  static std::string TextOf(double value) { return fmt::format("{}", value); }
  static std::string TextOf(const std::vector<double>& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  static std::string TextOf(const std::vector<int64_t>& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  template <class... Ts>
  static std::string TextOf(const std::variant<Ts...>& value) {
    return std::visit([](const auto& alternative) { return TextOf(alternative); }, value);
  }
  template <class T>
  static std::string TextOf(const std::optional<T>& value) {
    return value ? TextOf(*value) : "null";
  }

  std::map<std::string_view, std::string> texts_;
};

// Throws at the place for an argument that the function does not have.
template <class Options>
void CheckArguments(std::string_view function, const Options& options) {
  const auto usual = ArgumentTexts::Of(Options());
  std::vector<std::string> taken;
  for (const auto& [key, text] : usual) {
    if (KerasTakes(function, key)) taken.emplace_back(key);
  }
  for (const auto& [key, text] : ArgumentTexts::Of(options)) {
    if (KerasTakes(function, key) || text == usual.at(key)) continue;
    Refuse(options.place, fmt::format("'{}' has no argument '{}'", function, key),
           taken.empty() ? "it has none" : "it has: " + Join(taken, ", "));
  }
}

// Throws at the metric's place for an argument that Keras' class requires and that is not given.
void CheckRequired(const KerasMetric& metric, const KerasMetricClass& known) {
  const auto given = ArgumentTexts::Of(metric);
  for (const std::string_view argument : known.required) {
    if (given.at(argument) != "null") continue;
    Refuse(metric.place, fmt::format("'{}' requires '{}'", metric.fn, argument),
           fmt::format("metrics: [{{fn: {}, {}: VALUE}}]", metric.fn, argument));
  }
}

// Throws at the metric's place for a value that Keras' class refuses.
void CheckValues(const KerasMetric& metric) {
  const auto refuse = [&](std::string_view key, const auto& value, std::string_view expected) {
    Refuse(metric.place, fmt::format("{} is {}, expected {}", key, value, expected));
  };
  for (const auto& [key, rate] : {std::pair{"specificity", metric.specificity},
                                  {"sensitivity", metric.sensitivity},
                                  {"precision", metric.precision},
                                  {"recall", metric.recall}}) {
    if (rate && (*rate < 0 || *rate > 1)) refuse(key, *rate, "0 to 1");
  }
  if (metric.num_thresholds < 1) refuse("num_thresholds", metric.num_thresholds, "at least 1");
  if (!(metric.beta > 0)) refuse("beta", metric.beta, "a number above 0");
  const std::optional<double>& threshold = metric.arguments.threshold;
  if (threshold && KerasTakes(metric.fn, "average") && !(*threshold > 0 && *threshold <= 1)) {
    refuse("threshold", *threshold, "more than 0, at most 1");
  }
  if (metric.num_classes && *metric.num_classes < 1) {
    refuse("num_classes", *metric.num_classes, "at least 1");
  }
  const int64_t classes = metric.num_classes.value_or(2);
  for (const int64_t id : metric.target_class_ids.value_or(std::vector<int64_t>())) {
    if (id < 0 || id >= classes) {
      refuse("a number in target_class_ids", id, fmt::format("0 to {}", classes - 1));
    }
  }
}

void CheckThresholds(const KerasMetric& metric) {
  const bool is_auc = metric.fn == "AUC";
  if (is_auc && metric.num_thresholds < 2) {
    Refuse(metric.place,
           fmt::format("num_thresholds is {}, expected at least 2", metric.num_thresholds));
  }
  if (!metric.thresholds) return;
  if (is_auc && std::holds_alternative<double>(*metric.thresholds)) {
    Refuse(metric.place, "thresholds of AUC must be a list", "thresholds: [0.25, 0.5, 0.75]");
  }
  const std::vector<double> thresholds = KerasThresholdsOf(metric);
  if (thresholds.empty()) Refuse(metric.place, "thresholds is an empty list", "thresholds: [0.5]");
  for (const double threshold : thresholds) {
    if (threshold >= 0 && threshold <= 1) continue;
    Refuse(metric.place, fmt::format("a threshold is {}, expected 0 to 1", threshold));
  }
}

void CheckOutput(const KerasOutput& output) {
  for (const KerasMetric& metric : output.metrics) CheckKerasMetric(metric);
  for (const KerasMetric& metric : output.weighted_metrics) CheckKerasMetric(metric);
  if (!output.loss) return;
  const auto& losses = KerasLossNames();
  if (std::find(losses.begin(), losses.end(), *output.loss) == losses.end()) {
    const std::vector<std::string> names(losses.begin(), losses.end());
    const auto nearest = Nearest(*output.loss, names);
    Refuse(
        output.place, fmt::format("there is no loss '{}'", *output.loss),
        nearest ? fmt::format("did you mean '{}'?", *nearest) : "there are: " + Join(names, ", "));
  }
  CheckArguments(*output.loss, output);
}

}  // namespace

void CheckKerasMetric(const KerasMetric& metric) {
  const auto& means = KerasMeanNames();
  const bool is_mean = std::find(means.begin(), means.end(), metric.fn) != means.end();
  const KerasMetricClass* const known = FindKerasMetricClass(metric.fn);
  if (!is_mean && known == nullptr) {
    std::vector<std::string> names(means.begin(), means.end());
    for (const KerasMetricClass& one : KerasMetricClasses()) names.emplace_back(one.name);
    const auto nearest = Nearest(metric.fn, names);
    Refuse(
        metric.place, fmt::format("there is no metric '{}'", metric.fn),
        nearest ? fmt::format("did you mean '{}'?", *nearest) : "there are: " + Join(names, ", "));
  }
  CheckArguments(metric.fn, metric);
  if (known != nullptr) CheckRequired(metric, *known);
  CheckThresholds(metric);
  CheckValues(metric);
}

std::set<std::string> KerasHead::weight_columns() const {
  std::set<std::string> columns;
  for (const KerasOutput& output : outputs) {
    if (output.weight_column && !output.weight_column->empty()) {
      columns.insert(*output.weight_column);
    }
  }
  return columns;
}

std::string KerasHead::reduction() const {
  return outputs.empty() ? "sum_over_batch_size" : outputs.front().reduction;
}

void KerasHead::CheckOptions() const {
  if (outputs.empty()) {
    throw Error(Code::kUsage, "the head has no outputs", "outputs: [{name: LAYER, loss: mse}]");
  }
  std::set<std::string> names;
  for (const KerasOutput& output : outputs) {
    if (!names.insert(output.name).second) {
      Refuse(output.place, fmt::format("two outputs are called '{}'", output.name));
    }
    CheckOutput(output);
  }
}

HeadOutputs KerasHead::Build(const HeadInputs& inputs) const {
  CheckOptions();
  return KerasBuilder(*this, inputs).Build();
}

}  // namespace tpuest::nn
