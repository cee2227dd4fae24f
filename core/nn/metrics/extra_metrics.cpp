#include "core/nn/metrics/extra_metrics.h"

#include <set>
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
  std::string otherwise = {};  // a key that will do where that is not there
};

constexpr std::string_view kClassHeads = "a MultiClassHead or BinaryClassHead";

constexpr std::string_view kBinaryHeads = "a BinaryClassHead or MultiLabelHead";

constexpr std::string_view kAnyClassHeads = "a BinaryClassHead, MultiLabelHead or MultiClassHead";

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

// The number of classes of a head: one logit is that of two.
int64_t ClassesOf(const Tensors& tensors) {
  const int64_t logits = tensors.at("logits").shape().dim(-1);
  return logits == 1 ? 2 : logits;
}

// Precision or recall: of one logit at a threshold, of several by the class that is predicted.
template <class Options>
Plan RatePlan(const Options& options, ClassRate rate) {
  return {.name = options.name,
          .tensor = "logistic",
          .head = kAnyClassHeads,
          .build =
              [options, rate](Graph& graph, const Tensors& t) {
                if (t.contains("logistic")) {
                  if (options.class_id) {
                    throw Error(Code::kUsage, "class_id needs a MultiClassHead");
                  }
                  const auto build = rate == ClassRate::kPrecision ? PrecisionMetric : RecallMetric;
                  return build(graph, options.name, t.at("logistic"), t.at("labels"), WeightsOf(t),
                               options.threshold);
                }
                const int64_t classes = ClassesOf(t);
                if (options.class_id && (*options.class_id < 0 || *options.class_id >= classes)) {
                  throw Error(Code::kUsage, fmt::format("class_id is {}, expected 0 to {}",
                                                        *options.class_id, classes - 1));
                }
                return ClassRateMetric(graph, options.name, rate, t.at("labels"), t.at("class_ids"),
                                       WeightsOf(t), classes, options.class_id);
              },
          .otherwise = "class_ids"};
}

Plan PlanOf(const PrecisionOptions& options) { return RatePlan(options, ClassRate::kPrecision); }

Plan PlanOf(const RecallOptions& options) { return RatePlan(options, ClassRate::kRecall); }

void CheckClasses(int64_t classes) {
  constexpr int64_t kMostClasses = 10000;  // squared, they are 800 MB of counts
  if (classes < 2 || classes > kMostClasses) {
    throw Error(Code::kUsage,
                fmt::format("num_classes is {}, expected 2 to {}", classes, kMostClasses));
  }
}

Plan PlanOf(const ConfusionMatrixOptions& options) {
  if (options.num_classes) CheckClasses(*options.num_classes);
  return {options.name, "class_ids", kClassHeads, [=](Graph& graph, const Tensors& t) {
            if (!options.num_classes && !t.contains("logits")) {
              throw Error(Code::kUsage, "the number of classes of this head is not known",
                          "set num_classes of the confusion_matrix");
            }
            const int64_t classes = options.num_classes ? *options.num_classes : ClassesOf(t);
            CheckClasses(classes);
            return ConfusionMatrixMetric(graph, options.name, t.at("labels"), t.at("class_ids"),
                                         WeightsOf(t), classes);
          }};
}

Plan PlanOf(const R2ScoreOptions& options) {
  return {options.name, "predictions", "a regression head",
          [options](Graph& graph, const Tensors& t) {
            return R2ScoreMetric(graph, options.name, t.at("predictions"), t.at("labels"),
                                 WeightsOf(t));
          }};
}

Plan PlanOf(const RootMeanSquaredErrorOptions& options) {
  return {options.name, "predictions", "a regression head",
          [options](Graph& graph, const Tensors& t) {
            return RootMeanSquaredErrorMetric(graph, options.name, t.at("predictions"),
                                              t.at("labels"), WeightsOf(t));
          }};
}

// The mean of a formula's value.
constexpr const char* kMeanOf = "mean of";

Plan PlanOf(const MeanOptions& options) {
  if (options.values.empty() == options.value.empty()) {
    throw Error(Code::kUsage, "mean takes either `values` or `value`",
                "value: a formula to average");
  }
  if (options.values.empty()) {
    const std::string own = options.name.empty() ? "mean" : options.name;
    return {own, kMeanOf, "", [own](Graph& graph, const Tensors& t) {
              return MeanMetric(graph, own, t.at(kMeanOf), WeightsOf(t));
            }};
  }
  const std::string name = options.name.empty() ? options.values + "/mean" : options.name;
  return {name, options.values, "a head with these values",
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

// The value of a metric's formula as rows [batch, n], in float32 if `real`.
Value RowsOf(Graph& graph, const Formula& formula, const FormulaNames& names, bool real) {
  const Value value = BuildFormula(graph, formula, names);
  const Shape& shape = value.shape();
  if (!shape.known_rank() || shape.rank() == 0) {
    throw Error(Code::kUsage,
                fmt::format("a metric takes one value per example, found {} {}",
                            NameOf(value.dtype()), shape.Text()),
                "it averages over the batch by itself")
        .At(formula.place);
  }
  if (value.dtype() == DType::kString) {
    throw Error(Code::kUsage, "a metric takes numbers, found string").At(formula.place);
  }
  const Value rows = shape.rank() == 1   ? ops::ExpandDims(value, -1)
                     : shape.rank() == 2 ? value
                                         : ops::FlattenRows(value);
  return real ? ops::Cast(rows, DType::kFloat) : rows;
}

constexpr std::string_view kFeaturePrefix = "features/";
constexpr std::string_view kLabelPrefix = "labels/";

const Formula* MeanOf(const MeanOptions& options) {
  return options.value.empty() ? nullptr : &options.value;
}
template <class Options>
const Formula* MeanOf(const Options& /*options*/) {
  return nullptr;
}

// The tensors with what formulas say in the place of the head's own. `predictions` is the tensor
// that the metric reads.
template <class Options>
Tensors WithFormulas(Graph& graph, const Options& options, const std::string& predictions,
                     const Tensors& tensors) {
  constexpr bool kKeepsType = std::is_same_v<Options, AccuracyOptions>;
  const FormulaNames names = MetricFormulaNames(tensors);
  Tensors with = tensors;
  const MetricFormulas& of = options.of;
  if (!of.labels.empty()) with["labels"] = RowsOf(graph, of.labels, names, !kKeepsType);
  if (!of.predictions.empty()) {
    with[predictions] = RowsOf(graph, of.predictions, names, !kKeepsType);
    if constexpr (std::is_same_v<Options, RecallAtKOptions>) with["logits"] = with[predictions];
  }
  if (const Formula* const mean = MeanOf(options)) {
    with[kMeanOf] = RowsOf(graph, *mean, names, true);
  }
  if (!of.weights.empty()) {
    const Value weights = RowsOf(graph, of.weights, names, true);
    const Value real = WeightsOf(tensors);
    with["weights"] = real.valid() ? ops::Mul(weights, real) : weights;
  }
  // A head of formulas gives tensors as they come, [batch] and integers: beside [batch, 1] they
  // would be taken for a row, and a metric computes in float32.
  for (const std::string& name : {std::string("labels"), predictions}) {
    const auto found = with.find(name);
    if (found == with.end()) continue;
    Value& value = found->second;
    if (value.shape().rank() == 1) value = ops::ExpandDims(value, -1);
    if (!kKeepsType && value.dtype() != DType::kString) value = ops::Cast(value, DType::kFloat);
  }
  return with;
}

template <class Options>
bool HasTensor(const Options& options, const Plan& plan, const Tensors& tensors) {
  if (!options.of.predictions.empty()) {
    return tensors.contains("labels") || !options.of.labels.empty();
  }
  return tensors.contains(plan.tensor) || tensors.contains(plan.otherwise) ||
         MeanOf(options) != nullptr;
}

template <class Options>
void AddBuilder(const Options& options, const Tensors& tensors, MetricBuilders& builders) {
  try {
    Plan plan = PlanOf(options);
    if (!HasTensor(options, plan, tensors)) {
      throw Error(Code::kUsage, fmt::format("metric '{}' needs {}", Options::kType, plan.head),
                  "`predictions` and `labels` may be formulas");
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
    if (!options.of.all().empty() || MeanOf(options) != nullptr) {
      plan.build = [options, tensor = plan.tensor, build = std::move(plan.build)](
                       Graph& graph, const Tensors& t) {
        return build(graph, WithFormulas(graph, options, tensor, t));
      };
    }
    builders.emplace(plan.name, std::move(plan.build));
  } catch (Error& error) {
    if (error.faults().front().place.line > 0) throw;
    throw std::move(error).At(options.place);
  }
}

}  // namespace

std::vector<std::string> NamesInMetrics(const std::vector<ExtraMetric>& extra) {
  std::set<std::string> names;
  for (const ExtraMetric& metric : extra) {
    std::visit(
        [&](const auto& options) {
          std::vector<const Formula*> formulas = options.of.all();
          if (const Formula* const mean = MeanOf(options)) formulas.push_back(mean);
          for (const Formula* const formula : formulas) {
            for (const std::string& name : NamesIn(*formula)) names.insert(name);
          }
        },
        metric);
  }
  return {names.begin(), names.end()};
}

std::string FeatureKey(const std::string& feature) { return std::string(kFeaturePrefix) + feature; }

FormulaNames MetricFormulaNames(const Tensors& tensors) {
  FormulaNames names;
  for (const auto& [key, value] : tensors) {
    if (key.starts_with(kFeaturePrefix)) {
      names.groups["features"].emplace(key.substr(kFeaturePrefix.size()), value);
    } else if (key.starts_with(kLabelPrefix)) {
      names.groups["labels"].emplace(key.substr(kLabelPrefix.size()), value);
    } else {
      names.values.emplace(key, value);
      // "price/logits" of a model of several outputs is logits['price'].
      const size_t slash = key.rfind('/');
      if (slash != std::string::npos) {
        names.groups[key.substr(slash + 1)].emplace(key.substr(0, slash), value);
      }
    }
  }
  for (const auto& [name, value] : names.groups["features"]) names.values.emplace(name, value);
  std::erase_if(names.groups, [](const auto& group) { return group.second.empty(); });
  return names;
}

MetricBuilders ExtraMetricBuilders(const std::vector<ExtraMetric>& extra, const Tensors& tensors) {
  MetricBuilders builders;
  for (const ExtraMetric& metric : extra) {
    std::visit([&](const auto& options) { AddBuilder(options, tensors, builders); }, metric);
  }
  return builders;
}

}  // namespace tpuest::nn
