#pragma once
// A model in EVAL or PREDICT: its variables from a checkpoint, and programs for the batch sizes
// that come.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/checkpoint/saved_state.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/metric_runner.h"
#include "core/estimator/step/model_builder.h"
#include "core/estimator/step/step_program.h"

namespace tpuest {

class InferenceModel {
 public:
  InferenceModel(EstimatorContext& context, Mode mode) : context_(context), mode_(mode) {}

  // The checkpoint that `path` names, or the newest of model_dir; nullopt if that has none, which
  // is logged.
  [[nodiscard]] std::optional<SavedState> Find(const std::optional<std::string>& path) const;
  // Builds the model and fills its variables: from the checkpoint, or fresh (warm-started).
  // Programs of an earlier call are kept, unless its stream had other features: true then, and the
  // first time.
  bool Load(const StreamSpec& stream, const std::optional<SavedState>& saved, int64_t batch_size);

  // Their values, once it is loaded.
  [[nodiscard]] const VariableStore& variables() const { return variables_; }
  [[nodiscard]] VariableStore& store() { return variables_; }
  // Of a full batch.
  [[nodiscard]] const Graph& graph() const { return *full_->model.graph; }
  [[nodiscard]] const TPUEstimatorSpec& spec() { return full_->model.spec; }
  struct Output {
    // Of the model that ran: in EVAL one for a padded batch may give its metrics more tensors.
    const TPUEstimatorSpec& spec;
    // The loss and the tensors for the metrics, or the predictions; in the order of their names.
    std::vector<Tensor> values;
  };
  // A short batch of EVAL runs padded if the model reads example_weight, else on one replica; of
  // PREDICT, padded. So results may have more rows than the batch: padding comes last.
  [[nodiscard]] Output Run(const Batch& batch);
  // eval_metric_ops of the batches since Load.
  [[nodiscard]] std::map<std::string, Tensor> EvalMetricValues();

 private:
  struct Variant {
    BuiltModel model;
    std::unique_ptr<StepPrograms> programs;
    std::unique_ptr<HostGraph> metrics;  // reads eval_metric_ops
  };
  // {with example_weight, replicas}.
  using Key = std::pair<bool, int>;

  Variant& VariantFor(Key key);
  [[nodiscard]] Output RunVariant(Variant& variant, const Batch& batch);
  [[nodiscard]] Output RunPadded(const Batch& batch, Variant& variant);

  EstimatorContext& context_;
  const Mode mode_;
  int64_t batch_size_ = 1;
  std::optional<StreamSpec> stream_;
  VariableStore variables_;
  std::map<Key, std::unique_ptr<Variant>> variants_;
  Variant* full_ = nullptr;
};

}  // namespace tpuest
