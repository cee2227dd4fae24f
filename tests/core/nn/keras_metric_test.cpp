// Metrics of Keras' classes on six examples, as TensorFlow 2.15 computes them.

#include "core/nn/heads/keras_metric.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/nn/heads/keras_head.h"
#include "core/ops/array.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

const std::vector<float> kShares = {0.7F, 0.2F,  0.1F,  0.2F, 0.5F, 0.3F, 0.1F,  0.3F, 0.6F,
                                    0.4F, 0.35F, 0.25F, 0.3F, 0.3F, 0.4F, 0.15F, 0.8F, 0.05F};
const std::vector<float> kClassNumbers = {0, 1, 2, 1, 0, 1};

// The values of a metric, unweighted and weighted, of outputs and labels [6, n].
std::vector<float> Measured(const KerasMetric& metric, const std::vector<float>& predictions,
                            const std::vector<float>& labels) {
  Session session;
  const auto columns = [&](const std::vector<float>& x) {
    return session.Const({6, static_cast<int64_t>(x.size()) / 6}, x);
  };
  CheckKerasMetric(metric);
  const KerasMetricClass* const known = FindKerasMetricClass(metric.fn);
  REQUIRE(known != nullptr);
  const KerasMeasured measured = known->measured(metric, columns(predictions), columns(labels));
  const auto rows = [](Value x) {
    return x.valid() && x.shape().rank() == 1 ? ops::ExpandDims(x, -1) : x;
  };
  std::vector<float> values;
  for (const bool weighted : {false, true}) {
    const MetricOps ops = known->build(session.graph(), weighted ? "weighted" : "plain", metric,
                                       rows(measured.predictions), rows(measured.labels),
                                       weighted ? columns({1, 2, 1, 0.5F, 1, 3}) : Value());
    session.Initialize();
    session.Step(ops.update);
    for (const float value : session.Floats(ops.value)) values.push_back(value);
  }
  return values;
}

std::vector<float> OneHot() {
  std::vector<float> rows(18, 0.0F);
  for (size_t i = 0; i < 6; ++i) rows[3 * i + static_cast<size_t>(kClassNumbers[i])] = 1;
  return rows;
}

std::vector<float> SecondColumn(const std::vector<float>& rows) {
  std::vector<float> column;
  for (size_t i = 0; i < 6; ++i) column.push_back(rows[3 * i + 1]);
  return column;
}

std::vector<float> OfClasses(const KerasMetric& metric) {
  return Measured(metric, kShares, OneHot());
}
std::vector<float> OfTwo(const KerasMetric& metric) {
  return Measured(metric, SecondColumn(kShares), SecondColumn(OneHot()));
}

std::string RefusalOf(const KerasMetric& metric) {
  try {
    CheckKerasMetric(metric);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("F scores are Keras', per class and averaged") {
  CHECK(Near(OfClasses({.fn = "F1Score"}),
             {0.5, 0.8, 0.66666669, 0.57142854, 0.95238096, 0.66666669}));
  CHECK(Near(OfClasses({.fn = "F1Score", .average = "macro"}), {0.65555555, 0.73015875}));
  CHECK(Near(OfClasses({.fn = "F1Score", .arguments = {.threshold = 0.3}, .average = "micro"}),
             {0.76923072, 0.85714281}));
  CHECK(Near(OfClasses({.fn = "FBetaScore", .average = "weighted", .beta = 2}),
             {0.66269845, 0.82100683}));
}

TEST_CASE("intersections over unions are Keras', for labels as numbers and as one-hot rows") {
  CHECK(Near(Measured({.fn = "IoU",
                       .num_classes = 3,
                       .target_class_ids = std::vector<int64_t>{0, 2},
                       .sparse_y_pred = false},
                      kShares, kClassNumbers),
             {0.41666669, 0.44999999}));
  CHECK(Near(Measured({.fn = "MeanIoU",
                       .arguments = {.ignore_class = 0},
                       .num_classes = 3,
                       .sparse_y_pred = false},
                      kShares, kClassNumbers),
             {0.55555558, 0.63636369}));
  CHECK(Near(
      OfClasses({.fn = "OneHotIoU", .num_classes = 3, .target_class_ids = std::vector<int64_t>{1}}),
      {0.66666669, 0.90909094}));
  CHECK(Near(OfClasses({.fn = "OneHotMeanIoU", .num_classes = 3}), {0.5, 0.60303032}));
  CHECK(
      Near(OfTwo({.fn = "BinaryIoU", .arguments = {.threshold = 0.4}}), {0.70833337, 0.88311690}));
  CHECK(Near(OfTwo({.fn = "BinaryIoU", .target_class_ids = std::vector<int64_t>{1}}),
             {0.66666669, 0.90909094}));
}

TEST_CASE("metrics at a given rate are Keras', for one class and for one threshold") {
  CHECK(Near(OfTwo({.fn = "SensitivityAtSpecificity", .specificity = 0.6}), {1, 1}));
  CHECK(Near(OfTwo({.fn = "SpecificityAtSensitivity", .num_thresholds = 5, .sensitivity = 0.6}),
             {0.33333334, 0.33333334}));
  CHECK(Near(OfClasses({.fn = "PrecisionAtRecall", .class_id = 1, .recall = 0.6}), {1, 1}));
  CHECK(Near(OfTwo({.fn = "RecallAtPrecision", .num_thresholds = 1, .precision = 0.7}),
             {0.33333334, 0.54545456}));
}

TEST_CASE("relative errors and equality are Keras'") {
  CHECK(Near(OfClasses({.fn = "MeanRelativeError", .normalizer = std::vector<double>{1, 2, 0}}),
             {0.16250001, 0.13774511}));
  std::vector<float> rounded = kShares;
  for (float& x : rounded) x = std::nearbyint(x);
  CHECK(Near(Measured({.fn = "Accuracy"}, rounded, OneHot()), {0.83333331, 0.86274511}));
}

TEST_CASE("arguments that a metric requires, lacks or forbids are refused") {
  CHECK(RefusalOf({.fn = "IoU", .num_classes = 3}) == "'IoU' requires 'target_class_ids'");
  CHECK(RefusalOf({.fn = "OneHotMeanIoU"}) == "'OneHotMeanIoU' requires 'num_classes'");
  CHECK(RefusalOf({.fn = "BinaryIoU", .target_class_ids = std::vector<int64_t>{2}}) ==
        "a number in target_class_ids is 2, expected 0 to 1");
  CHECK(RefusalOf({.fn = "F1Score", .beta = 2}) == "'F1Score' has no argument 'beta'");
  CHECK(RefusalOf({.fn = "F1Score", .arguments = {.threshold = 0.0}}) ==
        "threshold is 0, expected more than 0, at most 1");
  CHECK(RefusalOf({.fn = "PrecisionAtRecall", .recall = 1.5}) == "recall is 1.5, expected 0 to 1");
}

}  // namespace tpuest::nn
