#pragma once
// A model in EVAL or PREDICT: its variables from a checkpoint, and programs for the batch sizes
// that occur.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/step/distributions.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/programs/metric_runner.h"
#include "core/estimator/step/programs/step_program.h"

namespace tpuest {

// A model's summaries of a batch: scalars in the order of their tags, and whole tensors.
struct BatchSummaries {
  std::vector<float> scalars;
  std::vector<SummaryValue> distributions;
};

class InferenceModel {
 public:
  InferenceModel(EstimatorContext& context, Mode mode) : context_(context), mode_(mode) {}

  // Returns the checkpoint that `path` names, or the newest of model_dir; nullopt, with a log line,
  // if that has none. Throws Error kCheckpoint if it is missing or damaged; `older` is as in
  // LoadNewest.
  [[nodiscard]] std::optional<SavedState> Find(const std::optional<std::string>& path,
                                               OlderCheckpoint older) const;
  // Builds the model and fills its variables: from the checkpoint, or fresh (warm-started). Keeps
  // the programs of an earlier call unless its stream had other columns. Returns whether the model
  // was built again.
  bool Load(const StreamSpec& stream, const std::optional<SavedState>& saved, int64_t batch_size);

  // In a worker: loads the model with the chief's variables, and with tables that training has.
  void Take(const StreamSpec& stream, const std::map<std::string, Tensor>& variables,
            const std::vector<std::shared_ptr<RowTable>>& tables, int64_t batch_size);
  // Whether full batches run on the replicas of all processes of home.group, each on its own rows:
  // true if the mode has as many replicas as training. The chief then sends a BatchMessage for each
  // such batch.
  [[nodiscard]] bool is_spread() const { return full_->is_spread; }
  // Whether the host also computes results of Run from inputs: the chief then reads all rows.
  [[nodiscard]] bool needs_all_rows() const;

  // The variables with their values, after Load.
  [[nodiscard]] const VariableStore& variables() const { return variables_; }
  [[nodiscard]] VariableStore& store() { return variables_; }
  // The graph and the spec for full batches.
  [[nodiscard]] const Graph& graph() const { return *full_->model.graph; }
  [[nodiscard]] const TPUEstimatorSpec& spec() { return full_->model.spec; }
  struct Output {
    // The spec of the model that ran: in EVAL the model for a padded batch may pass more tensors to
    // its metrics.
    const TPUEstimatorSpec& spec;
    // In EVAL the loss [], the tensors for the metrics and those for the host_call; in PREDICT the
    // predictions. Tensors are [batch, ...], in the order of their names.
    std::vector<Tensor> values;
  };
  // Runs a batch, of which the chief of a group may have only its own rows. A short batch is padded
  // in PREDICT, and in EVAL if the model reads example_weight; otherwise it runs on one replica. So
  // results may have more rows than the batch, with padding at the end. `trace`, if given, receives
  // one event per kernel, or one for the whole batch on a device.
  [[nodiscard]] Output Run(const Batch& batch, StepTrace* trace = nullptr);
  // Returns the model's summaries of a batch, without its padding. This process must have all its
  // rows.
  [[nodiscard]] BatchSummaries SummariesOf(const Batch& batch);
  // In a worker: runs its replicas' part of a batch of the chief; it may have only its own rows.
  void RunShare(const Batch& given);
  // The values of eval_metric_ops over the batches since Load.
  [[nodiscard]] std::map<std::string, Tensor> EvalMetricValues();

 private:
  struct Variant {
    BuiltModel model;
    std::optional<StepProgramArgs> args;
    std::unique_ptr<StepPrograms> programs;
    // For the spec's summaries; made on first use.
    std::unique_ptr<StepPrograms> scalars;
    std::unique_ptr<Distributions> distributions;
    std::unique_ptr<HostGraph> metrics;  // reads eval_metric_ops
    bool is_spread = false;
  };
  // A variant's key is {with example_weight, replicas}.
  using Key = std::pair<bool, int>;

  // Makes the store keep tables by rows, if the job says so.
  void KeepRows();
  // Returns whether the columns differ from those of the previous stream; all variants are then
  // dropped.
  [[nodiscard]] bool Begin(const StreamSpec& stream, int64_t batch_size);
  Variant& VariantFor(Key key);
  // Returns the variant for a batch of this many examples, and whether the batch is padded for it.
  [[nodiscard]] std::pair<Variant*, bool> VariantOf(int64_t examples);
  [[nodiscard]] bool Spreads(const TPUEstimatorSpec& spec, int replicas) const;
  void MakeSummaries(Variant& variant);
  [[nodiscard]] Batch Padded(const Batch& batch) const;

  EstimatorContext& context_;
  const Mode mode_;
  int64_t batch_size_ = 1;
  std::optional<StreamSpec> stream_;
  VariableStore variables_;
  std::map<Key, std::unique_ptr<Variant>> variants_;
  Variant* full_ = nullptr;
};

}  // namespace tpuest
