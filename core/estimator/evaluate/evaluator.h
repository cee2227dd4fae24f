#pragma once
// Estimator::Evaluate: the metrics and the mean loss of a checkpoint over an input.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/estimator/evaluate/inference_hooks.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/group/orders.h"
#include "core/estimator/step/infeed.h"
#include "core/estimator/step/programs/host_call_runner.h"
#include "core/estimator/step/programs/metric_runner.h"
#include "core/io/events/event_writer.h"

namespace tpuest {

class Evaluator {
 public:
  explicit Evaluator(EstimatorContext& context)
      : context_(context),
        model_(context, Mode::kEval),
        metrics_(context.home.backend, context.home.registry, context.home.log, context.threads,
                 model_.variables()) {}

  // Error kUsage where an input without end has no `steps`, kData for an input without examples,
  // 143 or kInterrupted when a stop is requested: no part of an evaluation is kept.
  EvaluateResult Evaluate(const InputFn& input_fn, const EvaluateArgs& args);
  // In a worker of home.group: runs its part of the batches of an evaluation that the chief has
  // begun, to its end. The order has all variables. Throws what the input throws, and the group's
  // verdict.
  void FollowChief(const InputFn& input_fn, const EvaluateOrder& order,
                   std::vector<std::shared_ptr<RowTable>> tables);

 private:
  // What the workers of home.group are told when an evaluation begins.
  [[nodiscard]] EvaluateOrder OrderFor(const EvaluateArgs& args, uint64_t seed) const;
  // Adds up the metrics and the mean loss over the batches.
  void Run(Infeed& infeed, const EvaluateArgs& args, InferenceHooks& hooks, EvaluateResult& result);
  void LogBatch(const EvaluateArgs& args, int64_t batches);
  // Writes the result to the log, the events and metrics.jsonl.
  void Publish(const EvaluateArgs& args, const EvaluateResult& result);
  // The writer of a folder's events: one file a folder and process, as TensorFlow's FileWriterCache
  // has it.
  EventWriter& EventsIn(const std::string& folder, double now);

  EstimatorContext& context_;
  InferenceModel model_;
  MetricRunner metrics_;
  std::map<std::string, std::unique_ptr<EventWriter>> events_;  // by folder
  std::vector<HostCallScalars> summaries_;  // the scalars of the evaluation that runs
};

}  // namespace tpuest
