// Metrics of eight examples; the numbers are Keras 2.15's.

#include "core/nn/metrics/metrics.h"

#include <doctest/doctest.h>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

const std::vector<float> kPredictions = {0.1F, 0.4F, 0.35F, 0.8F, 0.8F, 0.05F, 0.62F, 0.5F};
const std::vector<float> kLabels = {0, 0, 1, 1, 0, 0, 1, 1};
const std::vector<float> kWeights = {1, 2, 1, 0.5F, 1, 1, 2, 1};

// The metric after batches of `batch` examples.
template <class Build>
float Streamed(int64_t batch, bool weighted, const Build& build) {
  Session session;
  const auto input = [&](const char* name) {
    return session.graph().Placeholder(DType::kFloat, Shape{kUnknownDim, 1}, name);
  };
  const Value predictions = input("predictions");
  const Value labels = input("labels");
  const Value weights = input("weights");
  const MetricOps metric =
      build(session.graph(), predictions, labels, weighted ? weights : Value{});
  session.Initialize();
  for (int64_t i = 0; i < 8; i += batch) {
    const auto rows = [&](const std::vector<float>& all) {
      const auto end = std::min<int64_t>(i + batch, 8);
      return Tensor::Of<float>({8, 1}, all).Rows(i, end).Clone();
    };
    session.Step(metric.update, 1,
                 {{predictions, {rows(kPredictions)}},
                  {labels, {rows(kLabels)}},
                  {weights, {rows(kWeights)}}});
  }
  return session.Float(metric.value);
}

MetricOps Mean(Graph& graph, Value predictions, Value /*labels*/, Value weights) {
  return MeanMetric(graph, "mean", predictions, weights);
}
template <AucCurve curve, int thresholds>
MetricOps Auc(Graph& graph, Value predictions, Value labels, Value weights) {
  return AucMetric(graph, "auc", predictions, labels, weights,
                   {.curve = curve, .num_thresholds = thresholds});
}
MetricOps Precision(Graph& graph, Value predictions, Value labels, Value weights) {
  return PrecisionMetric(graph, "precision", predictions, labels, weights);
}
MetricOps Recall(Graph& graph, Value predictions, Value labels, Value weights) {
  return RecallMetric(graph, "recall", predictions, labels, weights);
}
MetricOps Baseline(Graph& graph, Value /*predictions*/, Value labels, Value weights) {
  return AccuracyBaseline(graph, "baseline", labels, weights);
}

TEST_CASE("a mean weights examples, and does not depend on the batch size") {
  CHECK(Streamed(8, false, Mean) == doctest::Approx(3.62 / 8));
  CHECK(Streamed(8, true, Mean) == doctest::Approx(4.24 / 9.5));
  for (const int64_t batch : {1, 2, 3, 5}) {
    CHECK(Streamed(batch, true, Mean) == Streamed(8, true, Mean));
  }
}

template <ClassRate rate>
MetricOps OfTwo(Graph& graph, Value predictions, Value labels, Value weights) {
  const Value ids =
      ops::Cast(ops::Greater(predictions, graph.ScalarOf(DType::kFloat, 0.5)), DType::kInt64);
  return ClassRateMetric(graph, "rate", rate, labels, ids, weights, 2, 1);
}
MetricOps R2(Graph& graph, Value predictions, Value labels, Value weights) {
  return R2ScoreMetric(graph, "r2", predictions, labels, weights);
}
MetricOps R2OfConstant(Graph& graph, Value predictions, Value /*labels*/, Value weights) {
  return R2ScoreMetric(graph, "r2", predictions, ops::OnesLike(predictions), weights);
}

TEST_CASE("precision and recall of a class of two are those of two classes") {
  for (const int64_t batch : {1, 3, 8}) {
    CHECK(Streamed(batch, true, OfTwo<ClassRate::kPrecision>) == Streamed(8, true, Precision));
    CHECK(Streamed(batch, false, OfTwo<ClassRate::kRecall>) == Streamed(8, false, Recall));
  }
}

TEST_CASE("R2 is the part of the labels' spread that predictions explain, in any batches") {
  // Four labels of each kind, so the total is 2. The sum of squared errors is 1.6694.
  CHECK(Streamed(8, false, R2) == doctest::Approx(1 - 1.6694 / 2));
  CHECK(Streamed(3, true, R2) == doctest::Approx(Streamed(8, true, R2)));
  CHECK(Streamed(8, false, R2OfConstant) == 0);
}

TEST_CASE("areas under the curves are Keras's") {
  CHECK(Streamed(8, false, Auc<AucCurve::kRoc, 200>) == doctest::Approx(0.71875));
  CHECK(Streamed(8, true, Auc<AucCurve::kRoc, 200>) == doctest::Approx(0.7222222685813904));
  CHECK(Streamed(8, true, Auc<AucCurve::kRoc, 11>) == doctest::Approx(0.7666666507720947));
  CHECK(Streamed(8, false, Auc<AucCurve::kPr, 200>) == doctest::Approx(0.6105524301528931));
  CHECK(Streamed(8, true, Auc<AucCurve::kPr, 200>) == doctest::Approx(0.5863893628120422));
  CHECK(Streamed(8, true, Auc<AucCurve::kPr, 11>) == doctest::Approx(0.6093196868896484));
  CHECK(Streamed(3, true, Auc<AucCurve::kPr, 200>) == Streamed(8, true, Auc<AucCurve::kPr, 200>));
}

template <AucCurve curve, AucSummation summation>
MetricOps AucBy(Graph& graph, Value predictions, Value labels, Value weights) {
  return AucMetric(graph, "auc", predictions, labels, weights,
                   {.curve = curve, .summation = summation});
}

TEST_CASE("areas may be summed from below, from above, or as tf.compat.v1 does") {
  using enum AucCurve;
  using enum AucSummation;
  CHECK(Streamed(8, true, AucBy<kRoc, kMinoring>) == doctest::Approx(0.7111111283302307));
  CHECK(Streamed(8, true, AucBy<kPr, kMinoring>) == doctest::Approx(0.4265364408493042));
  CHECK(Streamed(8, true, AucBy<kRoc, kMajoring>) == doctest::Approx(0.7333333492279053));
  CHECK(Streamed(8, true, AucBy<kPr, kMajoring>) == doctest::Approx(0.6606702208518982));
  CHECK(Streamed(8, true, AucBy<kRoc, kTrapezoidal>) == doctest::Approx(0.72222215).epsilon(1e-6));
  CHECK(Streamed(8, true, AucBy<kPr, kTrapezoidal>) == doctest::Approx(0.5991589).epsilon(1e-6));
}

TEST_CASE("every element of a matrix is an example with the weight of its row") {
  const std::vector<float> doubled = {0.1F, 0.4F, 0.35F, 0.8F};
  Session session;
  const auto area = [&](const std::string& name, const Shape& shape, const Shape& weights) {
    const std::vector<float> w = weights.dim(1) == 1 && weights.dim(0) == 2
                                     ? std::vector<float>{1, 3}
                                     : std::vector<float>{1, 1, 3, 3};
    return AucMetric(session.graph(), name, session.Const(shape, doubled),
                     session.Const(shape, {0, 1, 0, 1}), session.Const(weights, w), {});
  };
  const MetricOps matrix = area("matrix", {2, 2}, {2, 1});
  const MetricOps column = area("column", {4, 1}, {4, 1});
  session.Initialize();
  session.Step(matrix.update);
  session.Step(column.update);
  CHECK(session.Float(matrix.value) == session.Float(column.value));
  CHECK(session.Float(matrix.value) > 0.9F);
}

template <ConfusionCell cell>
MetricOps Cell(Graph& graph, Value predictions, Value labels, Value weights) {
  return ConfusionMetric(graph, "cell", cell, predictions, labels, weights, 0.45);
}

TEST_CASE("right and wrong predictions at a threshold are counted by weight") {
  using enum ConfusionCell;
  CHECK(Streamed(3, true, Cell<kTruePositives>) == 3.5F);
  CHECK(Streamed(3, true, Cell<kTrueNegatives>) == 4);
  CHECK(Streamed(3, true, Cell<kFalsePositives>) == 1);
  CHECK(Streamed(3, true, Cell<kFalseNegatives>) == 1);
  CHECK(Streamed(8, false, Cell<kTruePositives>) == 3);
}

// The numbers of tf.keras.metrics (TensorFlow 2.15).
TEST_CASE("rates and areas at thresholds of their own, and of the largest predictions") {
  Session session;
  Graph& graph = session.graph();
  const Value labels = session.Const({3, 3}, {0, 1, 0, 1, 0, 1, 0, 0, 1});
  const Value predictions =
      session.Const({3, 3}, {0.2F, 0.7F, 0.1F, 0.3F, 0.3F, 0.4F, 0.6F, 0.3F, 0.1F});
  const auto value = [&](const MetricOps& metric) {
    session.Initialize();
    session.Step(metric.update);
    return session.Floats(metric.value);
  };
  const std::vector<double> two = {0.25, 0.5};
  using enum ClassRate;
  CHECK(Near(value(RateAtThresholdsMetric(graph, "p", kPrecision, predictions, labels, {}, two)),
             {0.5, 0.5}));
  CHECK(Near(value(RateAtThresholdsMetric(graph, "r", kRecall, predictions, labels, {}, two)),
             {0.75, 0.25}));
  CHECK(Near(value(RateAtThresholdsMetric(graph, "k1", kPrecision, KeepTopK(predictions, 1), labels,
                                          {}, {kBelowAll})),
             {0.6666667}));
  CHECK(Near(value(RateAtThresholdsMetric(graph, "k2", kRecall, KeepTopK(predictions, 2), labels,
                                          {}, {kBelowAll})),
             {0.75}));
  CHECK(Near(value(ConfusionMetric(graph, "tp", ConfusionCell::kTruePositives, predictions, labels,
                                   {}, std::vector<double>{0.25, 0.65})),
             {3, 1}));
  AucSpec spec{.thresholds = {0.35, 0.15, 0.5}};
  CHECK(Near(value(AucMetric(graph, "roc", predictions, labels, {}, spec)), {0.575}));
  spec.curve = AucCurve::kPr;
  CHECK(Near(value(AucMetric(graph, "pr", predictions, labels, {}, spec)), {0.5116217}));
}

template <Tradeoff tradeoff, int percent>
MetricOps Best(Graph& graph, Value predictions, Value labels, Value weights) {
  return TradeoffMetric(graph, "best", tradeoff, predictions, labels, weights, percent / 100.0);
}

TEST_CASE("the best value of one rate is found where the other is high enough") {
  using enum Tradeoff;
  CHECK(Streamed(3, true, Best<kSensitivityAtSpecificity, 60>) ==
        doctest::Approx(0.7777777910232544));
  CHECK(Streamed(3, true, Best<kSpecificityAtSensitivity, 50>) ==
        doctest::Approx(0.800000011920929));
  CHECK(Streamed(3, true, Best<kPrecisionAtRecall, 50>) == doctest::Approx(0.7777777910232544));
  CHECK(Streamed(3, true, Best<kRecallAtPrecision, 60>) == 1);
  CHECK(Streamed(3, true, Best<kRecallAtPrecision, 99>) == 0);
}

TEST_CASE("the root of the mean squared error, and accuracy at a threshold") {
  const auto rmse = [](Graph& graph, Value predictions, Value labels, Value weights) {
    return RootMeanSquaredErrorMetric(graph, "rmse", predictions, labels, weights);
  };
  CHECK(Streamed(3, true, rmse) == doctest::Approx(0.45350101590156555));
  const auto accuracy = [](Graph& graph, Value predictions, Value labels, Value weights) {
    return BinaryAccuracyMetric(graph, "accuracy", predictions, labels, weights, 0.45);
  };
  CHECK(Streamed(3, true, accuracy) == doctest::Approx(0.7894737124443054));
}

TEST_CASE("precision and recall take what exceeds the threshold as positive") {
  CHECK(Streamed(8, true, Precision) == doctest::Approx(0.7142857313156128));
  CHECK(Streamed(8, true, Recall) == doctest::Approx(0.5555555820465088));
  CHECK(Streamed(3, true, Recall) == Streamed(8, true, Recall));
}

TEST_CASE("the baseline is the accuracy of always predicting one class") {
  CHECK(Streamed(3, false, Baseline) == doctest::Approx(0.5));
  CHECK(Streamed(3, true, Baseline) == doctest::Approx(5.0 / 9.5));
}

TEST_CASE("a metric without weight is 0") {
  Session session;
  const Value ones = session.Const({2, 1}, {1, 1});
  const MetricOps metric = MeanMetric(session.graph(), "m", ones, session.Const({2, 1}, {0, 0}));
  session.Initialize();
  session.Step(metric.update);
  CHECK(session.Float(metric.value) == 0);
}

TEST_CASE("of equal scores the first class wins") {
  Session session;
  const Value scores = session.Const({3, 4}, {1, 3, 3, 0, 1, 3, 3, 0, 1, 3, 3, 0});
  const Value labels = session.Ints({3, 1}, {1, 2, 0});
  CHECK(session.Floats(InTopK(scores, labels, 1)) == std::vector<float>{1, 0, 0});
  CHECK(session.Floats(InTopK(scores, labels, 2)) == std::vector<float>{1, 1, 0});
  CHECK(session.Floats(InTopK(scores, labels, 3)) == std::vector<float>{1, 1, 1});
}

TEST_CASE("metrics keep their sums in local variables, which checkpoints do not contain") {
  Session session;
  (void)MeanMetric(session.graph(), "accuracy", session.Const({1, 1}, {1}), {});
  REQUIRE(session.graph().FindVariable("accuracy/total") != nullptr);
  CHECK(session.graph().FindVariable("accuracy/total")->local);
  CHECK(session.graph().FindVariable("accuracy/count")->local);
}

template <Tradeoff tradeoff, int percent>
MetricOps Nearest(Graph& graph, Value predictions, Value labels, Value weights) {
  return NearestTradeoffMetric(graph, "nearest", tradeoff, predictions, labels, weights,
                               percent / 100.0);
}

TEST_CASE("one rate is read where the other is nearest, as in tf.metrics") {
  using enum Tradeoff;
  CHECK(Streamed(8, false, Nearest<kSensitivityAtSpecificity, 50>) == doctest::Approx(1));
  CHECK(Streamed(8, false, Nearest<kSensitivityAtSpecificity, 75>) == doctest::Approx(0.75));
  CHECK(Streamed(8, false, Nearest<kSensitivityAtSpecificity, 90>) == doctest::Approx(0));
  CHECK(Streamed(3, true, Nearest<kSensitivityAtSpecificity, 90>) == doctest::Approx(0.7777778));
  CHECK(Streamed(3, true, Nearest<kSensitivityAtSpecificity, 0>) == doctest::Approx(1));
  CHECK(Streamed(3, true, Nearest<kSensitivityAtSpecificity, 100>) == doctest::Approx(0));
  CHECK(Streamed(8, false, Nearest<kSpecificityAtSensitivity, 50>) == doctest::Approx(0.75));
  CHECK(Streamed(8, false, Nearest<kSpecificityAtSensitivity, 90>) == doctest::Approx(0.5));
  CHECK(Streamed(3, true, Nearest<kSpecificityAtSensitivity, 90>) == doctest::Approx(0.4));
  CHECK(Streamed(3, true, Nearest<kSpecificityAtSensitivity, 0>) == doctest::Approx(1));
}

}  // namespace
}  // namespace tpuest::nn
