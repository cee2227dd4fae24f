#include "core/nn/heads/custom_head.h"

#include <fmt/format.h>

#include <utility>

#include "core/nn/formula/formula.h"
#include "core/nn/job_place.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

// True for [batch, ...].
bool IsOfExamples(Value x) { return x.shape().known_rank() && x.shape().rank() > 0; }

// Numbers of examples [batch, ...] as rows [batch, n].
Value LossRows(Value x) {
  if (x.shape().rank() == 1) return ops::ExpandDims(x, -1);
  return x.shape().rank() == 2 ? x : ops::FlattenRows(x);
}

class CustomBuilder {
 public:
  CustomBuilder(const CustomHead& head, const HeadInputs& inputs)
      : head_(head), inputs_(inputs), graph_(inputs.logits.graph()) {}

  HeadOutputs Build() {
    TakeInputs();
    SetPredictions();
    SetExports();
    if (inputs_.labels.valid()) TakeLabels();
    if (inputs_.has_loss) SetCustomLoss();
    return std::move(outputs_);
  }

 private:
  void TakeInputs() {
    for (const auto& [name, value] : inputs_.features) names_.values.emplace(name, value);
    names_.groups.emplace("features", inputs_.features);
    names_.values.insert_or_assign("logits", inputs_.logits);
    if (!inputs_.logits_by_head.empty()) names_.groups.emplace("outputs", inputs_.logits_by_head);
  }

  void TakeLabels() {
    if (!inputs_.labels.is_dict()) {
      names_.values.insert_or_assign("labels", inputs_.labels.only());
      return;
    }
    std::map<std::string, Value> labels;
    for (const auto& [name, value] : inputs_.labels) labels.emplace(name, value);
    names_.groups.insert_or_assign("labels", std::move(labels));
  }

  void SetPredictions() {
    const NameScope scope(graph_, "predictions");
    for (const auto& [name, formula] : head_.predictions) {
      outputs_.predictions[name] = OfBatch(formula, name);
    }
    if (head_.predictions.empty()) outputs_.predictions["logits"] = inputs_.logits;
    // A feature of a prediction's name is what the name stands for.
    for (const auto& [name, value] : outputs_.predictions) names_.values.emplace(name, value);
    names_.groups.insert_or_assign("predictions", outputs_.predictions);
    if (outputs_.predictions.size() == 1) {
      names_.values.emplace("predictions", outputs_.predictions.begin()->second);
    }
  }

  // The formula's value, which every example has a row of.
  Value OfBatch(const Formula& formula, const std::string& what) {
    const Value value = BuildFormula(graph_, formula, names_);
    if (IsOfExamples(value)) return value;
    throw Error(Code::kUsage,
                fmt::format("'{}' is {} {}, expected one row per example", what,
                            NameOf(value.dtype()), value.shape().Text()),
                "a sum or a mean over the batch removes the axis of the examples")
        .At(formula.place);
  }

  // ---- exports ----------------------------------------------------------------------------------

  void SetExports() {
    for (const auto& [name, options] : head_.export_outputs) {
      const std::string& key = name;
      std::visit(
          [&](const auto& o) {
            AtPlace(o.place, [&] { outputs_.export_outputs[key] = Exported(o, key); });
          },
          options);
    }
  }

  ExportOutput Exported(const PredictOutputOptions& o, const std::string& name) {
    if (o.value.empty() == o.outputs.empty()) {
      throw Error(Code::kUsage,
                  fmt::format("PredictOutput '{}' takes either a value or outputs", name),
                  "{type: PredictOutput, outputs: {NAME: FORMULA}}");
    }
    ExportOutput out{ExportKind::kPredict, {}};
    if (!o.value.empty()) out.outputs["output"] = OfBatch(o.value, name);
    for (const auto& [key, formula] : o.outputs) out.outputs[key] = OfBatch(formula, key);
    return out;
  }
  ExportOutput Exported(const ClassificationOutputOptions& o, const std::string& name) {
    if (o.scores.empty() && o.classes.empty()) {
      throw Error(Code::kUsage, "At least one of scores and classes must be set.",
                  fmt::format("export_outputs '{}' has neither", name));
    }
    ExportOutput out{ExportKind::kClassification, {}};
    if (!o.scores.empty()) {
      out.outputs["scores"] = Numbers(OfBatch(o.scores, "scores"), o.scores,
                                      "Classification scores must be a float32 Tensor");
    }
    if (!o.classes.empty()) {
      const Value classes = OfBatch(o.classes, "classes");
      if (classes.dtype() != DType::kString) {
        throw Error(Code::kUsage,
                    fmt::format("Classification classes must be a string Tensor; got {}",
                                NameOf(classes.dtype())),
                    "as_string(x) makes texts")
            .At(o.classes.place);
      }
      out.outputs["classes"] = classes;
    }
    return out;
  }
  ExportOutput Exported(const RegressionOutputOptions& o, const std::string& name) {
    return {ExportKind::kRegression,
            {{"outputs", Numbers(OfBatch(o.value, name), o.value,
                                 "Regression output value must be a float32 Tensor")}}};
  }
  static Value Numbers(Value x, const Formula& formula, std::string_view expected) {
    if (IsFloating(x.dtype())) return ops::Cast(x, DType::kFloat);
    throw Error(Code::kUsage, fmt::format("{}; got {}", expected, NameOf(x.dtype())),
                "cast(x, float32) makes numbers real")
        .At(formula.place);
  }

  // ---- loss -------------------------------------------------------------------------------------

  // Padding is not an example: losses per row exclude it, but one number cannot.
  void SetCustomLoss() {
    const NameScope scope(graph_, "losses");
    const Value value = BuildFormula(graph_, head_.loss, names_);
    if (!IsFloating(value.dtype())) {
      throw Error(Code::kUsage,
                  fmt::format("a loss must be a floating-point number, found {} {}",
                              NameOf(value.dtype()), value.shape().Text()),
                  "cast(x, float32) makes numbers real")
          .At(head_.loss.place);
    }
    if (!value.shape().known_rank()) {
      throw Error(Code::kUsage, "the number of axes of the loss is not known",
                  "reshape(x, [-1]) says it")
          .At(head_.loss.place);
    }
    const Value losses = ops::Cast(value, DType::kFloat);
    Tensors& tensors = outputs_.metric_tensors;
    TakeMetricTensors();
    if (IsOfExamples(losses)) {
      const Value labels = tensors.contains("labels") ? tensors.at("labels") : inputs_.logits;
      SetLoss(inputs_, inputs_.logits, labels, LossRows(losses), {}, "SUM_OVER_BATCH_SIZE",
              outputs_);
      if (!inputs_.labels.valid() || inputs_.labels.is_dict()) tensors.erase("labels");
      return;
    }
    if (inputs_.example_weight.valid()) {
      throw Error(Code::kUsage, "a loss of one number cannot exclude the rows that pad this batch",
                  "remove the mean over the batch from the formula: the examples' losses are "
                  "averaged without padding; or choose a batch size that divides evenly over the "
                  "replicas and into the examples of an evaluation")
          .At(head_.loss.place);
    }
    outputs_.loss = losses;
    if (inputs_.regularization_losses.empty()) return;
    outputs_.loss =
        ops::AddV2(losses, ops::AddN(inputs_.regularization_losses, "regularization_loss"), "loss");
  }

  // The names that metrics may use: logits, labels, and predictions.
  void TakeMetricTensors() {
    Tensors& tensors = outputs_.metric_tensors;
    for (const auto& [name, value] : outputs_.predictions) tensors.emplace(name, value);
    if (outputs_.predictions.size() == 1) {
      tensors.emplace("predictions", outputs_.predictions.begin()->second);
    }
    tensors.insert_or_assign("logits", inputs_.logits);
    for (const auto& [name, value] : inputs_.labels) {
      tensors.insert_or_assign(name.empty() ? "labels" : "labels/" + name, value);
    }
    if (inputs_.example_weight.valid()) {
      tensors.insert_or_assign("weights",
                               ops::ExpandDims(inputs_.example_weight, -1, "example_weight"));
    }
  }

  const CustomHead& head_;
  const HeadInputs& inputs_;
  Graph& graph_;
  FormulaNames names_;
  HeadOutputs outputs_;
};

}  // namespace

HeadOutputs CustomHead::Build(const HeadInputs& inputs) const {
  return CustomBuilder(*this, inputs).Build();
}

}  // namespace tpuest::nn
