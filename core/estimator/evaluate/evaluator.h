#pragma once
// Estimator::Evaluate: the metrics and the mean loss of a checkpoint over an input.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/estimator/evaluate/inference_hooks.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/group/control_messages.h"
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

  // Throws Error kUsage if an endless input has no `steps`, kData for an input without examples,
  // and 143 or kInterrupted when a stop is requested: a partial evaluation is discarded.
  EvaluateResult Evaluate(const InputFn& input_fn, const EvaluateArgs& args);
  // In a worker of home.group: runs its part of the batches of the chief's evaluation to the end.
  // The message contains all variables. Throws errors of the input, and the group's verdict.
  void FollowChief(const InputFn& input_fn, const EvaluateMessage& message,
                   std::vector<std::shared_ptr<RowTable>> tables);

 private:
  // Returns the message that starts an evaluation in the workers of home.group.
  [[nodiscard]] EvaluateMessage OrderFor(const EvaluateArgs& args, uint64_t seed) const;
  // Accumulates the metrics and the mean loss over the batches.
  void Run(Infeed& infeed, const EvaluateArgs& args, InferenceHooks& hooks, EvaluateResult& result);
  void LogBatch(const EvaluateArgs& args, int64_t batches);
  // Writes the result to the log, the events and metrics.jsonl.
  void Publish(const EvaluateArgs& args, const EvaluateResult& result);
  // Returns the writer of a folder's events: one file per folder and process, as in TensorFlow's
  // FileWriterCache.
  EventWriter& EventsIn(const std::string& folder, double now);

  EstimatorContext& context_;
  InferenceModel model_;
  MetricRunner metrics_;
  std::map<std::string, std::unique_ptr<EventWriter>> events_;  // by folder
  std::vector<HostCallScalars> summaries_;  // the scalars of the current evaluation
};

}  // namespace tpuest
