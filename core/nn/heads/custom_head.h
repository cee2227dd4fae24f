#pragma once
// A head made of formulas: the loss, predictions and export outputs of a custom model_fn.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "core/nn/heads/head.h"

namespace tpuest::nn {

// tf.estimator.export.PredictOutput(outputs): one tensor, called "output", or a dict of them.
struct PredictOutputOptions {
  static constexpr std::string_view kType = "PredictOutput";
  static constexpr std::string_view kSummary =
      "named tensors, for the Predict call of TensorFlow Serving";
  Formula value;
  std::map<std::string, Formula> outputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("value", value, {.help = "formula of the only tensor, which is called `output`"});
    v("outputs", outputs, {.help = "formulas of several tensors, by name"});
  }
};

// ClassificationOutput(scores, classes): float32 scores, string classes, or both.
struct ClassificationOutputOptions {
  static constexpr std::string_view kType = "ClassificationOutput";
  static constexpr std::string_view kSummary =
      "classes and scores, for the Classify call of TensorFlow Serving";
  Formula scores;
  Formula classes;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("scores", scores, {.help = "formula of the classes' scores"});
    v("classes", classes,
      {.help = "formula of the classes' names as strings, such as as_string returns"});
  }
};

// RegressionOutput(value).
struct RegressionOutputOptions {
  static constexpr std::string_view kType = "RegressionOutput";
  static constexpr std::string_view kSummary =
      "one number per example, for the Regress call of TensorFlow Serving";
  Formula value;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("value", value, {.help = "formula of the numbers", .required = true});
  }
};

using ExportOutputOptions =
    std::variant<PredictOutputOptions, ClassificationOutputOptions, RegressionOutputOptions>;

// Formulas (core/nn/formula/formula.h) may use these names: `logits`, the last layer's output;
// `labels`, or labels['NAME'] of a dict; each feature, and features['NAME']. The loss and the
// export outputs may also use each prediction, and predictions['NAME']. The loss formula gives one
// number for the batch, or losses [B] or [B, ...], whose mean is the loss.
struct CustomHead {
  static constexpr std::string_view kType = "CustomHead";
  static constexpr std::string_view kSummary = "loss, predictions and exports as formulas";
  Formula loss;
  std::map<std::string, Formula> predictions;
  std::map<std::string, ExportOutputOptions> export_outputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("loss", loss,
      {.help = "formula of one number per batch, or one per example, of which the loss is the mean",
       .required = true});
    v("predictions", predictions,
      {.help = "formulas of predictions by name; {} predicts `logits`"});
    v("export_outputs", export_outputs,
      {.help = "signatures of exports by name; {} exports the predictions", .changes_bits = false});
  }

  // Returns 1: the dimension is not known before the layers are built.
  [[nodiscard]] int64_t logits_dimension() const { return 1; }
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
