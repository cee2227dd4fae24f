#include "core/nn/metrics/extra_metrics.h"

#include <utility>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

// A metric as a head's tensors make it: what it reads, and how it is built from that.
struct Plan {
  std::string name;
  std::string tensor;     // a key of the head's tensors
  std::string_view head;  // which heads have it, for the message
  MetricBuilder build;
};

constexpr std::string_view kClassHeads = "a MultiClassHead or BinaryClassHead";

constexpr std::string_view kBinaryHeads = "a BinaryClassHead or MultiLabelHead";

Value WeightsOf(const Tensors& tensors) {
  const auto found = tensors.find("weights");
  return found == tensors.end() ? Value{} : found->second;
}

Plan PlanOf(const AccuracyOptions& options) {
  return {options.name, "class_ids", kClassHeads, [options](Graph& graph, const Tensors& t) {
            return AccuracyMetric(graph, options.name, t.at("labels"), t.at("class_ids"),
                                  WeightsOf(t));
          }};
}

Plan PlanOf(const RecallAtKOptions& options) {
  if (options.k < 1) {
    throw Error(Code::kUsage, fmt::format("k is {}, expected at least 1", options.k));
  }
  const std::string name =
      options.name.empty() ? fmt::format("recall_at_{}", options.k) : options.name;
  return {name, "probabilities", kClassHeads, [options, name](Graph& graph, const Tensors& t) {
            // Logits order classes as probabilities do, and keep apart what rounds to one there.
            const Value logits = t.at("logits");
            const bool one_logit = logits.shape().dim(-1) == 1;
            const Value scores = one_logit ? t.at("probabilities") : logits;
            return MeanMetric(graph, name, InTopK(scores, t.at("labels"), options.k), WeightsOf(t));
          }};
}

Plan PlanOf(const MeanAbsoluteErrorOptions& options) {
  return {options.name, "predictions", "a regression head",
          [options](Graph& graph, const Tensors& t) {
            const Value error = ops::Abs(ops::Sub(t.at("predictions"), t.at("labels")));
            return MeanMetric(graph, options.name, error, WeightsOf(t));
          }};
}

Plan PlanOf(const MeanSquaredErrorOptions& options) {
  return {options.name, "predictions", "a regression head",
          [options](Graph& graph, const Tensors& t) {
            const Value error = ops::SquaredDifference(t.at("predictions"), t.at("labels"));
            return MeanMetric(graph, options.name, error, WeightsOf(t));
          }};
}

AucSummation SummationOf(const std::string& method) {
  if (method == "minoring") return AucSummation::kMinoring;
  if (method == "majoring") return AucSummation::kMajoring;
  if (method == "trapezoidal") return AucSummation::kTrapezoidal;
  return AucSummation::kInterpolation;
}

Plan PlanOf(const AucOptions& options) {
  if (options.num_thresholds < 3) {
    throw Error(Code::kUsage,
                fmt::format("num_thresholds is {}, expected at least 3", options.num_thresholds));
  }
  const AucSpec spec{.curve = options.curve == "PR" ? AucCurve::kPr : AucCurve::kRoc,
                     .summation = SummationOf(options.summation_method),
                     .num_thresholds = static_cast<int>(options.num_thresholds)};
  return {options.name, "logistic", kBinaryHeads, [options, spec](Graph& graph, const Tensors& t) {
            return AucMetric(graph, options.name, t.at("logistic"), t.at("labels"), WeightsOf(t),
                             spec);
          }};
}

Plan PlanOf(const PrecisionOptions& options) {
  return {options.name, "logistic", kBinaryHeads, [options](Graph& graph, const Tensors& t) {
            return PrecisionMetric(graph, options.name, t.at("logistic"), t.at("labels"),
                                   WeightsOf(t), options.threshold);
          }};
}

Plan PlanOf(const RecallOptions& options) {
  return {options.name, "logistic", kBinaryHeads, [options](Graph& graph, const Tensors& t) {
            return RecallMetric(graph, options.name, t.at("logistic"), t.at("labels"), WeightsOf(t),
                                options.threshold);
          }};
}

Plan PlanOf(const RootMeanSquaredErrorOptions& options) {
  return {options.name, "predictions", "a regression head",
          [options](Graph& graph, const Tensors& t) {
            return RootMeanSquaredErrorMetric(graph, options.name, t.at("predictions"),
                                              t.at("labels"), WeightsOf(t));
          }};
}

Plan PlanOf(const MeanOptions& options) {
  const std::string name = options.name.empty() ? options.values + "/mean" : options.name;
  return {name, options.values, "a head that has those values",
          [options, name](Graph& graph, const Tensors& t) {
            return MeanMetric(graph, name, t.at(options.values), WeightsOf(t));
          }};
}

Plan PlanOf(const BinaryAccuracyOptions& options) {
  return {options.name, "logistic", kBinaryHeads, [options](Graph& graph, const Tensors& t) {
            return BinaryAccuracyMetric(graph, options.name, t.at("logistic"), t.at("labels"),
                                        WeightsOf(t), options.threshold);
          }};
}

template <ConfusionCell cell>
Plan PlanOf(const ConfusionOptions<cell>& options) {
  return {options.name, "logistic", kBinaryHeads, [options](Graph& graph, const Tensors& t) {
            return ConfusionMetric(graph, options.name, cell, t.at("logistic"), t.at("labels"),
                                   WeightsOf(t), options.threshold);
          }};
}

template <Tradeoff tradeoff>
Plan PlanOf(const TradeoffOptions<tradeoff>& options) {
  if (!(options.least >= 0 && options.least <= 1)) {
    throw Error(Code::kUsage,
                fmt::format("Argument `{0}` must be in the range [0, 1]. Received: {0}={1}",
                            NamesOf(tradeoff).least, options.least));
  }
  if (options.num_thresholds < 2) {
    throw Error(Code::kUsage,
                fmt::format("num_thresholds is {}, expected at least 2", options.num_thresholds));
  }
  return {options.name, "logistic", kBinaryHeads, [options](Graph& graph, const Tensors& t) {
            constexpr bool kOfMetrics = tradeoff == Tradeoff::kSensitivityAtSpecificity ||
                                        tradeoff == Tradeoff::kSpecificityAtSensitivity;
            const auto build = kOfMetrics ? NearestTradeoffMetric : TradeoffMetric;
            return build(graph, options.name, tradeoff, t.at("logistic"), t.at("labels"),
                         WeightsOf(t), options.least, static_cast<int>(options.num_thresholds));
          }};
}

template <class Options>
void AddBuilder(const Options& options, const Tensors& tensors, MetricBuilders& builders) {
  try {
    Plan plan = PlanOf(options);
    if (!tensors.contains(plan.tensor)) {
      throw Error(Code::kUsage, fmt::format("metric '{}' needs {}", Options::kType, plan.head));
    }
    if (plan.name == "loss" || plan.name == "global_step") {
      throw Error(Code::kUsage,
                  fmt::format("Metric with name {} is not allowed, because Estimator already "
                              "defines a default metric with the same name.",
                              plan.name == "loss" ? "\"loss\"" : "`global_step`"));
    }
    if (builders.contains(plan.name)) {
      throw Error(Code::kUsage, fmt::format("two metrics are called '{}'", plan.name),
                  "give one of them another name");
    }
    builders.emplace(plan.name, std::move(plan.build));
  } catch (Error& error) {
    throw std::move(error).At(options.place);
  }
}

}  // namespace

MetricBuilders ExtraMetricBuilders(const std::vector<ExtraMetric>& extra, const Tensors& tensors) {
  MetricBuilders builders;
  for (const ExtraMetric& metric : extra) {
    std::visit([&](const auto& options) { AddBuilder(options, tensors, builders); }, metric);
  }
  return builders;
}

}  // namespace tpuest::nn
