#include "core/nn/heads/head_metrics.h"

#include <utility>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

using ThresholdMetricFn = MetricOps (*)(Graph&, const std::string&, Value, Value, Value, double);

HeadMetrics::Build Confusion(ThresholdMetricFn metric, const std::string& scores,
                             double threshold) {
  return [=](Graph& graph, const std::string& name, const Tensors& t) {
    return metric(graph, name, t.at(scores), t.at("labels"), MetricWeights(t), threshold);
  };
}

HeadMetrics::Build AreaUnder(AucCurve curve, const std::string& scores,
                             std::optional<int64_t> column) {
  return [=](Graph& graph, const std::string& name, const Tensors& t) {
    const auto pick = [&](Value x) { return column ? ColumnOf(x, *column) : x; };
    return AucMetric(graph, name, pick(t.at(scores)), pick(t.at("labels")), MetricWeights(t),
                     {.curve = curve});
  };
}

}  // namespace

void HeadMetrics::Add(const std::string& key, Build build) {
  const std::string name = key + suffix_;
  outputs_.metrics[name] = [name, build = std::move(build)](Graph& graph, const Tensors& t) {
    return build(graph, name, t);
  };
}

void HeadMetrics::Mean(const std::string& key, const std::string& tensor) {
  Add(key, [=](Graph& graph, const std::string& name, const Tensors& t) {
    return MeanMetric(graph, name, t.at(tensor), MetricWeights(t));
  });
}

void HeadMetrics::Accuracy(const std::string& key) {
  Add(key, [](Graph& graph, const std::string& name, const Tensors& t) {
    return AccuracyMetric(graph, name, t.at("labels"), t.at("class_ids"), MetricWeights(t));
  });
}

void HeadMetrics::PrecisionAndRecall(const std::string& tensor) {
  Add("precision", Confusion(PrecisionMetric, tensor, 0.5));
  Add("recall", Confusion(RecallMetric, tensor, 0.5));
}

void HeadMetrics::AreasUnderCurves(const std::string& scores) {
  Add("auc", AreaUnder(AucCurve::kRoc, scores, std::nullopt));
  Add("auc_precision_recall", AreaUnder(AucCurve::kPr, scores, std::nullopt));
}

void HeadMetrics::AreasUnderCurves(const std::string& scores, int64_t column,
                                   const std::string& class_name) {
  Add("auc/" + class_name, AreaUnder(AucCurve::kRoc, scores, column));
  Add("auc_precision_recall/" + class_name, AreaUnder(AucCurve::kPr, scores, column));
}

void HeadMetrics::AtThresholds(const std::string& scores, const std::vector<double>& thresholds) {
  for (const double threshold : thresholds) {
    const std::string at = fmt::format("/positive_threshold_{:g}", threshold);
    Add("accuracy" + at, Confusion(BinaryAccuracyMetric, scores, threshold));
    Add("precision" + at, Confusion(PrecisionMetric, scores, threshold));
    Add("recall" + at, Confusion(RecallMetric, scores, threshold));
  }
}

void HeadMetrics::Losses() {
  Mean("average_loss", "losses");
  if (!outputs_.metric_tensors.contains("regularization_loss")) return;
  Add("regularization_loss", [](Graph& graph, const std::string& name, const Tensors& t) {
    return MeanMetric(graph, name, t.at("regularization_loss"), {});
  });
}

Value MetricWeights(const Tensors& tensors) {
  const auto found = tensors.find("weights");
  return found == tensors.end() ? Value{} : found->second;
}

Value ColumnOf(Value x, int64_t column) { return ops::Slice(x, {0, column}, {-1, 1}); }

}  // namespace tpuest::nn
