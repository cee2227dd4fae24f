#include "core/estimator/step/model/estimator_spec.h"

#include <utility>

#include "core/estimator/step/model/scaffold.h"

namespace tpuest {
namespace {

void CheckForTpu(const EstimatorSpec& spec, Mode mode, Log& log) {
  constexpr const char* kWayOut = "return a TPUEstimatorSpec, or set use_tpu: false";
  if (mode != Mode::kTrain) {
    throw Error(Code::kUsage,
                fmt::format("estimator_spec used by TPU {} must have type`TPUEstimatorSpec`. Got "
                            "EstimatorSpec",
                            mode == Mode::kEval ? "evaluation" : "prediction"),
                kWayOut);
  }
  if (!spec.training_chief_hooks.empty()) {
    throw Error(Code::kUsage,
                "training_chief_hooks returned by EstimatorSpec is not supported in TPUEstimator. "
                "If you want to pass training hooks, please pass via training_hooks.",
                kWayOut);
  }
  if (spec.scaffold) {
    log.Warning(
        "EstimatorSpec.Scaffold is ignored by TPU train/eval. Please use TPUEstimatorSpec.");
  }
}

}  // namespace

EstimatorSpec AsEstimatorSpec(Graph& graph, const TPUEstimatorSpec& spec) {
  EstimatorSpec result{.common = spec};
  result.common.eval_metrics.reset();
  result.common.scaffold_fn = nullptr;
  if (spec.eval_metrics && spec.mode == Mode::kEval) {
    result.eval_metric_ops = spec.eval_metrics->fn(graph, spec.eval_metrics->tensors);
  }
  result.scaffold = CallScaffoldFn(graph, spec);
  return result;
}

ModelFn ModelFnOf(EstimatorModelFn model_fn, Log& log) {
  return [model_fn = std::move(model_fn), &log](Graph& graph, const ModelInputs& inputs, Mode mode,
                                                const Params& params) {
    EstimatorSpec given = model_fn(graph, inputs, mode, params);
    if (params.use_tpu) CheckForTpu(given, mode, log);
    TPUEstimatorSpec spec = std::move(given.common);
    spec.eval_metric_ops = std::move(given.eval_metric_ops);
    spec.training_chief_hooks = std::move(given.training_chief_hooks);
    if (given.scaffold && !params.use_tpu) {
      spec.scaffold_fn = [scaffold = std::move(given.scaffold)] { return scaffold; };
    }
    return spec;
  };
}

}  // namespace tpuest
