// A model_fn against the contract alone: a network that learns a number by Huber's loss, which
// grows as the square of a small error and as a large error itself.

#include "core/estimator/contract/contract.h"
#include "core/nn/layers/layers.h"
#include "core/nn/metrics/metrics.h"
#include "core/nn/optimizers/minimize.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest {

TPUEstimatorSpec OwnModelFn(Graph& graph, const ModelInputs& inputs, Mode mode,
                            const Params& params) {
  nn::LayerContext layers{
      .graph = graph, .training = mode == Mode::kTrain, .replicas = params.replicas};
  const Value hidden = nn::Dense{.units = 16, .activation = "relu"}.Apply(
      layers, inputs.features.at("x"));                         // [batch, 1] -> [batch, 16]
  const Value y = nn::Dense{.units = 1}.Apply(layers, hidden);  // [batch, 1]
  TPUEstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;

  const Value error = ops::Abs(ops::Sub(y, inputs.labels.only()));
  const Value small = ops::Minimum(error, 1.0);
  spec.loss = ops::Mean(ops::Sub(ops::Mul(small, error), ops::Mul(ops::Square(small), 0.5)));
  if (mode == Mode::kEval) {
    // Runs on the host, on the rows of all replicas.
    const MetricFn metric_fn = [](Graph& host, const std::map<std::string, Value>& tensors) {
      std::map<std::string, MetricOps> metrics;
      metrics["mean_error"] = nn::MeanMetric(host, "mean_error", tensors.at("error"), Value());
      return metrics;
    };
    spec.eval_metrics = EvalMetrics{.fn = metric_fn, .tensors = {{"error", error}}};
    return spec;
  }
  const nn::AdamOptimizer adam{.learning_rate = 0.01};
  spec.train_op = nn::Minimize(spec.loss, adam, {.replicas = params.replicas}).node;
  return spec;
}

}  // namespace tpuest
