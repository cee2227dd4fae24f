#pragma once
// tf.estimator.EstimatorSpec, which the model_fn of a plain Estimator returns.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/estimator/contract/contract.h"

namespace tpuest {

// A spec for one replica: its metrics are ops of the model's own graph, and its scaffold exists.
struct EstimatorSpec {
  TPUEstimatorSpec common;  // without eval_metrics and scaffold_fn
  std::map<std::string, MetricOps> eval_metric_ops;
  std::optional<Scaffold> scaffold;
  SpecHooks training_chief_hooks;  // called before those of the run
};

// TPUEstimatorSpec.as_estimator_spec: calls its metric_fn and its scaffold_fn on the model's graph.
// The host_call stays as it is. Throws as CallScaffoldFn does.
[[nodiscard]] EstimatorSpec AsEstimatorSpec(Graph& graph, const TPUEstimatorSpec& spec);

using EstimatorModelFn = std::function<EstimatorSpec(Graph& graph, const ModelInputs& inputs,
                                                     Mode mode, const Params& params)>;

// Converts a model_fn that returns an EstimatorSpec to the ModelFn that an Estimator takes. With
// use_tpu it only supports training: the scaffold is ignored, which is logged to `log` (it outlives
// the ModelFn); chief hooks, EVAL and PREDICT throw Error kUsage in TensorFlow's words.
[[nodiscard]] ModelFn ModelFnOf(EstimatorModelFn model_fn, Log& log);

}  // namespace tpuest
