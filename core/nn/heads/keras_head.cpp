#include "core/nn/heads/keras_head.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/nn/job_place.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

constexpr const char* kRealRows = "example_weight";

// The classes of tf.keras.metrics that are more than a mean of numbers.
using BuildClass = MetricOps (*)(Graph&, const std::string& name, const KerasMetric&, Value p,
                                 Value y, Value weights);
struct MetricClass {
  std::string_view name;
  BuildClass build;
};

template <ConfusionCell cell>
MetricOps Confused(Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                   Value y, Value weights) {
  return ConfusionMetric(graph, name, cell, p, y, weights, metric.arguments.threshold);
}

MetricOps AreaUnderCurve(Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                         Value y, Value weights) {
  const AucSummation summation = metric.summation_method == "minoring" ? AucSummation::kMinoring
                                 : metric.summation_method == "majoring"
                                     ? AucSummation::kMajoring
                                     : AucSummation::kInterpolation;
  return AucMetric(graph, name, p, y, weights,
                   {.curve = metric.curve == "PR" ? AucCurve::kPr : AucCurve::kRoc,
                    .summation = summation,
                    .num_thresholds = static_cast<int>(metric.num_thresholds)});
}

constexpr std::array kClasses = {
    MetricClass{"AUC", AreaUnderCurve},
    MetricClass{"Precision",
                [](Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                   Value y, Value weights) {
                  return PrecisionMetric(graph, name, p, y, weights, metric.arguments.threshold);
                }},
    MetricClass{"Recall",
                [](Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                   Value y, Value weights) {
                  return RecallMetric(graph, name, p, y, weights, metric.arguments.threshold);
                }},
    MetricClass{
        "RootMeanSquaredError",
        [](Graph& graph, const std::string& name, const KerasMetric&, Value p, Value y,
           Value weights) { return RootMeanSquaredErrorMetric(graph, name, p, y, weights); }},
    MetricClass{"TruePositives", Confused<ConfusionCell::kTruePositives>},
    MetricClass{"TrueNegatives", Confused<ConfusionCell::kTrueNegatives>},
    MetricClass{"FalsePositives", Confused<ConfusionCell::kFalsePositives>},
    MetricClass{"FalseNegatives", Confused<ConfusionCell::kFalseNegatives>}};

const MetricClass* ClassOf(const std::string& fn) {
  const auto* const found = std::find_if(kClasses.begin(), kClasses.end(),
                                         [&](const MetricClass& c) { return c.name == fn; });
  return found == kClasses.end() ? nullptr : found;
}

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
      throw Error(Code::kUsage, "a model of several outputs takes labels by their names",
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
      const Value losses = Value(Rows(KerasFunction(
          loss, KerasLabels(LabelOf(output), predictions, loss), predictions, output.arguments)));
      AddLoss(output, losses);
    }
    for (const KerasMetric& metric : output.metrics) {
      AtPlace(metric.place, [&] { AddMetric(output, metric, predictions); });
    }
  }

  void AddLoss(const KerasOutput& output, Value losses) {
    const auto real = built_.metric_tensors.find(kRealRows);
    const Value loss =
        ReduceLoss(losses,
                   {.weights = WeightColumn(output.weight_column.value_or(""), inputs_, false),
                    .example_weight = real == built_.metric_tensors.end() ? Value() : real->second,
                    .replicas = inputs_.replicas},
                   ParseLossReduction(output.reduction));
    losses_.push_back(output.loss_weight == 1 ? loss : ops::Mul(loss, output.loss_weight));
    rows_ = losses;
  }

  // A name for results; a second of the same is <name>_1.
  std::string NameFor(const KerasOutput& output, const KerasMetric& metric) {
    const std::string prefix = head_.outputs.size() > 1 ? output.name + "_" : "";
    const std::string wanted = metric.name.value_or(prefix + metric.fn);
    std::string name = wanted;
    for (int i = 1; built_.metrics.contains(name); ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  void AddMetric(const KerasOutput& output, const KerasMetric& metric, Value predictions) {
    const std::string name = NameFor(output, metric);
    const std::string tensor = "metric/" + name;
    const auto weights = [](const Tensors& t) {
      const auto found = t.find(kRealRows);
      return found == t.end() ? Value() : found->second;
    };
    if (const MetricClass* const of_class = ClassOf(metric.fn)) {
      built_.metric_tensors[tensor] = Rows(predictions);
      built_.metric_tensors[tensor + "/labels"] =
          Rows(KerasLabels(LabelOf(output), predictions, ""));
      built_.metrics[name] = [=](Graph& graph, const Tensors& t) {
        return of_class->build(graph, name, metric, t.at(tensor), t.at(tensor + "/labels"),
                               weights(t));
      };
      return;
    }
    const std::string fn = KerasFunctionOf(metric.fn, output.loss.value_or(""), predictions);
    Value values = KerasFunction(fn, KerasLabels(LabelOf(output), predictions, fn), predictions,
                                 metric.arguments);
    // As a metric it is the cosine itself, as a loss minus that.
    if (fn == "cosine_similarity") values = ops::Neg(values);
    built_.metric_tensors[tensor] = Rows(values);
    built_.metrics[name] = [=](Graph& graph, const Tensors& t) {
      return MeanMetric(graph, name, t.at(tensor), weights(t));
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

void CheckMetric(const KerasMetric& metric) {
  const auto& means = KerasMeanNames();
  if (std::find(means.begin(), means.end(), metric.fn) != means.end()) return;
  if (ClassOf(metric.fn) != nullptr) return;
  std::vector<std::string> names(means.begin(), means.end());
  for (const MetricClass& known : kClasses) names.emplace_back(known.name);
  const auto nearest = Nearest(metric.fn, names);
  Refuse(metric.place, fmt::format("there is no metric '{}'", metric.fn),
         nearest ? fmt::format("did you mean '{}'?", *nearest) : "there are: " + Join(names, ", "));
}

void CheckOutput(const KerasOutput& output) {
  for (const KerasMetric& metric : output.metrics) CheckMetric(metric);
  if (!output.loss) return;
  const auto& losses = KerasLossNames();
  if (std::find(losses.begin(), losses.end(), *output.loss) != losses.end()) return;
  const std::vector<std::string> names(losses.begin(), losses.end());
  const auto nearest = Nearest(*output.loss, names);
  Refuse(output.place, fmt::format("there is no loss '{}'", *output.loss),
         nearest ? fmt::format("did you mean '{}'?", *nearest) : "there are: " + Join(names, ", "));
}

}  // namespace

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
