#pragma once
// Streaming metrics as graph: local variables that each batch is added to, and a value read from
// them. Sums are kept in float64, so that a result does not depend on how examples were batched;
// values are float32 []. All tensors hold the whole global batch; weights are [B, 1] or of the
// values' shape, and not valid() where every element counts 1.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/metric_ops.h"

namespace tpuest::nn {

using Tensors = std::map<std::string, Value>;

// Builds a metric on a head's tensors (core/nn/heads/head.h).
using MetricBuilder = std::function<MetricOps(Graph&, const Tensors&)>;
using MetricBuilders = std::map<std::string, MetricBuilder>;  // by the name in results

// The mean, sum of w v over the sum of w, kept in "<name>/total" and "<name>/count"; 0 where
// nothing has weight (Keras's Mean).
[[nodiscard]] MetricOps MeanMetric(Graph& graph, const std::string& name, Value values,
                                   Value weights);

// The square root of the mean squared difference (Keras's RootMeanSquaredError).
[[nodiscard]] MetricOps RootMeanSquaredErrorMetric(Graph& graph, const std::string& name,
                                                   Value predictions, Value labels, Value weights);

// The coefficient of determination: 1 - sum of squared errors / sum of squared distances of the
// labels from their mean, of each column of [B, D], in the mean over the columns (Keras's R2Score).
// Of labels that are all the same it is 1 if they are hit, or else 0.
[[nodiscard]] MetricOps R2ScoreMetric(Graph& graph, const std::string& name, Value predictions,
                                      Value labels, Value weights);

// The accuracy, how often a equals b: MeanMetric of equality. a and b have one shape; they are
// compared in float32 if their dtypes differ.
[[nodiscard]] MetricOps AccuracyMetric(Graph& graph, const std::string& name, Value a, Value b,
                                       Value weights);

// The accuracy of always predicting one class: max(p, 1 - p) where p is the mean label
// (tf.estimator's accuracy_baseline).
[[nodiscard]] MetricOps AccuracyBaseline(Graph& graph, const std::string& name, Value labels,
                                         Value weights);

// The worth of predictions above a threshold: Keras's Precision and Recall. A label counts as
// positive if it is not 0; predictions [B, D] are positive where they exceed the threshold.
[[nodiscard]] MetricOps PrecisionMetric(Graph& graph, const std::string& name, Value predictions,
                                        Value labels, Value weights, double threshold = 0.5);
[[nodiscard]] MetricOps RecallMetric(Graph& graph, const std::string& name, Value predictions,
                                     Value labels, Value weights, double threshold = 0.5);

// The accuracy at a threshold, how often the label, 0 or 1, is what the prediction says: Keras's
// BinaryAccuracy.
[[nodiscard]] MetricOps BinaryAccuracyMetric(Graph& graph, const std::string& name,
                                             Value predictions, Value labels, Value weights,
                                             double threshold = 0.5);

enum class AucCurve { kRoc, kPr };

// The course of the curve between two thresholds.
enum class AucSummation {
  kInterpolation,  // ROC: straight; PR: Davis & Goadrich's interpolation
  kMinoring,       // as low as its lower end
  kMajoring,       // as high as its higher end
  kTrapezoidal     // straight, with 1e-6 beside what is divided: tf.compat.v1.metrics.auc
};

struct AucSpec {
  AucCurve curve = AucCurve::kRoc;
  AucSummation summation = AucSummation::kInterpolation;
  int num_thresholds = 200;  // at least 3
  // In [0, 1], in any order; empty: i / (n - 1) for 0 < i < n - 1.
  std::vector<double> thresholds = {};
};

// The area under the curve by Keras's AUC: thresholds -1e-7, those of the spec, 1 + 1e-7.
// predictions [B, D] in [0, 1]; each of the D is an example of its own.
[[nodiscard]] MetricOps AucMetric(Graph& graph, const std::string& name, Value predictions,
                                  Value labels, Value weights, const AucSpec& spec);

enum class ConfusionCell { kTruePositives, kTrueNegatives, kFalsePositives, kFalseNegatives };

// The weight of the predictions above the threshold, or not above it, whose label is not 0, or is:
// Keras's TruePositives and its kin.
[[nodiscard]] MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                                        Value predictions, Value labels, Value weights,
                                        double threshold = 0.5);
// The same at several thresholds, float32 [thresholds]; [] of one.
[[nodiscard]] MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                                        Value predictions, Value labels, Value weights,
                                        const std::vector<double>& thresholds);

// The weight of the examples by label (rows) and predicted class (columns), float32 [classes,
// classes]: tf.math.confusion_matrix. labels and class_ids [B, 1]; an example whose label is no
// class is left out.
[[nodiscard]] MetricOps ConfusionMatrixMetric(Graph& graph, const std::string& name, Value labels,
                                              Value class_ids, Value weights, int64_t classes);

enum class ClassRate { kPrecision, kRecall };

// Precision or recall at several thresholds, float32 [thresholds]; [] of one: Keras's Precision and
// Recall. predictions and labels [B, D].
[[nodiscard]] MetricOps RateAtThresholdsMetric(Graph& graph, const std::string& name,
                                               ClassRate rate, Value predictions, Value labels,
                                               Value weights,
                                               const std::vector<double>& thresholds);

// Precision or recall of one class, or else their plain mean over the classes that are a label or
// were predicted. labels and class_ids [B, 1].
[[nodiscard]] MetricOps ClassRateMetric(Graph& graph, const std::string& name, ClassRate rate,
                                        Value labels, Value class_ids, Value weights,
                                        int64_t classes, const std::optional<int64_t>& class_id);

// sensitivity = recall = TP / (TP + FN), specificity = TN / (TN + FP), precision = TP / (TP + FP).
enum class Tradeoff {
  kSensitivityAtSpecificity,
  kSpecificityAtSensitivity,
  kPrecisionAtRecall,
  kRecallAtPrecision
};

// The best of the one at thresholds 0, i / (n - 1), 1 where the other is at least `least`, or 0:
// Keras's SensitivityAtSpecificity and its kin. predictions [B, D] in [0, 1].
[[nodiscard]] MetricOps TradeoffMetric(Graph& graph, const std::string& name, Tradeoff tradeoff,
                                       Value predictions, Value labels, Value weights, double least,
                                       int num_thresholds = 200);

// The one, kSensitivityAtSpecificity or kSpecificityAtSensitivity, at the threshold where the other
// is nearest to `wanted`: tf.metrics' of these names. Thresholds i / (n - 1), the outermost two a
// bit outside. Of several thresholds that are as near, the first for the specificity and the last
// for the sensitivity.
[[nodiscard]] MetricOps NearestTradeoffMetric(Graph& graph, const std::string& name,
                                              Tradeoff tradeoff, Value predictions, Value labels,
                                              Value weights, double wanted,
                                              int num_thresholds = 200);

// A mask, float32 [B, 1]: 1 where the label's score [B, C] is among the k largest of its row, of
// equals the first, else 0. labels [B, 1].
[[nodiscard]] Value InTopK(Value scores, Value labels, int64_t k);

// What Keras's metrics have in the place of a prediction that is not among the top_k; as a
// threshold, all others are above it.
inline constexpr double kBelowAll = -1e10;

// The scores [B, C] with kBelowAll in the place of all but the k largest of each row, of equals the
// first.
[[nodiscard]] Value KeepTopK(Value scores, int64_t k);

}  // namespace tpuest::nn
