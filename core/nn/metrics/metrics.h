#pragma once
// Streaming metrics as graph: each batch is added to local variables, from which the value is read.
// Sums are kept in float64, so that a result does not depend on how examples were batched; values
// are float32 []. All tensors hold the whole global batch; weights are [B, 1] or of the values'
// shape, and not valid() if every element counts 1.

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
using MetricBuilders = std::map<std::string, MetricBuilder>;  // by name in results

// The mean: the sum of w v over the sum of w, kept in "<name>/total" and "<name>/count"; 0 if the
// weights sum to 0 (Keras' Mean).
[[nodiscard]] MetricOps MeanMetric(Graph& graph, const std::string& name, Value values,
                                   Value weights);

// The square root of the mean squared difference (Keras' RootMeanSquaredError).
[[nodiscard]] MetricOps RootMeanSquaredErrorMetric(Graph& graph, const std::string& name,
                                                   Value predictions, Value labels, Value weights);

// The coefficient of determination: 1 - sum of squared errors / sum of squared distances of the
// labels from their mean, computed per column of [B, D] and averaged over the columns (Keras'
// R2Score). If all labels of a column are equal, it is 1 for exact predictions, otherwise 0.
[[nodiscard]] MetricOps R2ScoreMetric(Graph& graph, const std::string& name, Value predictions,
                                      Value labels, Value weights);

// The fraction of examples where a equals b: MeanMetric of equality. a and b have one shape; they
// are compared in float32 if their dtypes differ.
[[nodiscard]] MetricOps AccuracyMetric(Graph& graph, const std::string& name, Value a, Value b,
                                       Value weights);

// The accuracy of always predicting the more frequent class: max(p, 1 - p) where p is the mean
// label (tf.estimator's accuracy_baseline).
[[nodiscard]] MetricOps AccuracyBaseline(Graph& graph, const std::string& name, Value labels,
                                         Value weights);

// Keras' Precision and Recall at a threshold. A label counts as positive if it is not 0; a
// prediction [B, D] is positive if it exceeds the threshold.
[[nodiscard]] MetricOps PrecisionMetric(Graph& graph, const std::string& name, Value predictions,
                                        Value labels, Value weights, double threshold = 0.5);
[[nodiscard]] MetricOps RecallMetric(Graph& graph, const std::string& name, Value predictions,
                                     Value labels, Value weights, double threshold = 0.5);

// The fraction of labels, 0 or 1, that equal the prediction at a threshold: Keras' BinaryAccuracy.
[[nodiscard]] MetricOps BinaryAccuracyMetric(Graph& graph, const std::string& name,
                                             Value predictions, Value labels, Value weights,
                                             double threshold = 0.5);

enum class AucCurve { kRoc, kPr };

// How the area between two neighbouring thresholds is computed.
enum class AucSummation {
  kInterpolation,  // ROC: linear; PR: interpolation of Davis & Goadrich 2006
  kMinoring,       // a step at the lower of the two heights
  kMajoring,       // a step at the higher of the two heights
  kTrapezoidal     // linear, with 1e-6 added to denominators: tf.compat.v1.metrics.auc
};

struct AucSpec {
  AucCurve curve = AucCurve::kRoc;
  AucSummation summation = AucSummation::kInterpolation;
  int num_thresholds = 200;  // at least 3
  // In [0, 1], in any order; if empty, i / (n - 1) for 0 < i < n - 1.
  std::vector<double> thresholds = {};
};

// The area under the curve by Keras' AUC, with thresholds -1e-7, those of the spec, and 1 + 1e-7.
// predictions [B, D] in [0, 1]; each of the D elements counts as an example.
[[nodiscard]] MetricOps AucMetric(Graph& graph, const std::string& name, Value predictions,
                                  Value labels, Value weights, const AucSpec& spec);

enum class ConfusionCell { kTruePositives, kTrueNegatives, kFalsePositives, kFalseNegatives };

// The weight of the predictions in one cell of the two-class confusion matrix at a threshold:
// Keras' TruePositives, TrueNegatives, FalsePositives and FalseNegatives. A label is positive if it
// is not 0.
[[nodiscard]] MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                                        Value predictions, Value labels, Value weights,
                                        double threshold = 0.5);
// The same at several thresholds, float32 [thresholds]; [] for one threshold.
[[nodiscard]] MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                                        Value predictions, Value labels, Value weights,
                                        const std::vector<double>& thresholds);

// The weight of the examples by label (rows) and predicted class (columns), float32 [classes,
// classes]: tf.math.confusion_matrix. labels and class_ids [B, 1]; an example whose label is not a
// class is ignored.
[[nodiscard]] MetricOps ConfusionMatrixMetric(Graph& graph, const std::string& name, Value labels,
                                              Value class_ids, Value weights, int64_t classes);

// The mean over `targets` of intersection over union: the weight of a class's right predictions,
// divided by the weight of the elements with this class as label or prediction. Keras' IoU. Targets
// that do not occur are left out; 0 if none occurs. labels and class_ids [B, n]; an element whose
// label or prediction is not a class is ignored. weights [B, 1] or [B, n].
[[nodiscard]] MetricOps IntersectionOverUnionMetric(Graph& graph, const std::string& name,
                                                    Value labels, Value class_ids, Value weights,
                                                    int64_t classes,
                                                    const std::vector<int64_t>& targets);

// The way to average the scores of several classes; kNone gives all scores, float32 [D].
enum class ScoreAverage { kNone, kMicro, kMacro, kWeighted };

// The weighted harmonic mean of precision and recall, (1 + beta^2) P R / (beta^2 P + R): Keras'
// FBetaScore. predicted [B, D], 0 or 1; labels [B, D] count by their values.
[[nodiscard]] MetricOps FScoreMetric(Graph& graph, const std::string& name, Value predicted,
                                     Value labels, Value weights, double beta,
                                     ScoreAverage average);

enum class ClassRate { kPrecision, kRecall };

// Precision or recall at several thresholds, float32 [thresholds], or [] for one: Keras' Precision
// and Recall. predictions and labels [B, D].
[[nodiscard]] MetricOps RateAtThresholdsMetric(Graph& graph, const std::string& name,
                                               ClassRate rate, Value predictions, Value labels,
                                               Value weights,
                                               const std::vector<double>& thresholds);

// Precision or recall of one class, or its unweighted mean over the classes that occur as labels or
// predictions. labels and class_ids [B, 1].
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

// The largest value of one rate at thresholds 0, i / (n - 1), 1 (0.5 if n is 1) where the other
// rate is at least `least`, or 0 if no threshold reaches it: Keras' SensitivityAtSpecificity and
// its relatives. predictions [B, D] in [0, 1].
[[nodiscard]] MetricOps TradeoffMetric(Graph& graph, const std::string& name, Tradeoff tradeoff,
                                       Value predictions, Value labels, Value weights, double least,
                                       int num_thresholds = 200);

// The rate that `tradeoff` names, kSensitivityAtSpecificity or kSpecificityAtSensitivity, at the
// threshold where the other rate is nearest to `wanted`: tf.metrics.sensitivity_at_specificity and
// specificity_at_sensitivity. Thresholds are i / (n - 1), with the first slightly below 0 and the
// last slightly above 1. If several thresholds are equally near, a given specificity takes the
// first and a given sensitivity the last.
[[nodiscard]] MetricOps NearestTradeoffMetric(Graph& graph, const std::string& name,
                                              Tradeoff tradeoff, Value predictions, Value labels,
                                              Value weights, double wanted,
                                              int num_thresholds = 200);

// Returns a mask, float32 [B, 1]: 1 where the label's score in [B, C] is among the k largest of its
// row, otherwise 0; of equal scores the first wins. labels [B, 1].
[[nodiscard]] Value InTopK(Value scores, Value labels, int64_t k);

// The value by which Keras' metrics replace a prediction outside the top_k; as a threshold, all
// other values exceed it.
inline constexpr double kBelowAll = -1e10;

// Returns the scores [B, C] with kBelowAll instead of all but the k largest of each row; of equal
// scores the first wins.
[[nodiscard]] Value KeepTopK(Value scores, int64_t k);

}  // namespace tpuest::nn
