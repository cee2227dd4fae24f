#pragma once
// A model in EVAL or PREDICT: its variables from a checkpoint, and programs for the batch sizes
// that come.

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/estimator/estimator_context.h"
#include "core/estimator/model_builder.h"
#include "core/estimator/saved_state.h"
#include "core/estimator/step_program.h"

namespace tpuest {

class InferenceModel {
 public:
  InferenceModel(EstimatorContext& context, Mode mode) : context_(context), mode_(mode) {}

  // The checkpoint that `path` names, or the newest of model_dir; nullopt if that has none, which
  // is logged.
  [[nodiscard]] std::optional<SavedState> Find(const std::optional<std::string>& path) const;
  // Builds the model and fills its variables: from the checkpoint, or fresh (warm-started).
  void Load(const StreamSpec& stream, const std::optional<SavedState>& saved, int64_t batch_size);

  [[nodiscard]] const TPUEstimatorSpec& spec() { return full_->model.spec; }
  // The loss and the tensors for the metrics of a batch, or its predictions; each in the order of
  // their names. A short batch of EVAL runs padded if the model reads example_weight, else on one
  // replica; of PREDICT, padded. So results may have more rows than the batch: padding comes last.
  [[nodiscard]] std::vector<Tensor> Run(const Batch& batch);

 private:
  struct Variant {
    BuiltModel model;
    std::map<int64_t, StepProgram> programs;  // by rows of the global batch
  };
  // {with example_weight, replicas}.
  using Key = std::pair<bool, int>;

  Variant& VariantFor(Key key);
  StepProgram& ProgramFor(Variant& variant, int replicas, int64_t rows);
  [[nodiscard]] std::vector<Tensor> RunPadded(const Batch& batch, Variant& variant);

  EstimatorContext& context_;
  const Mode mode_;
  int64_t batch_size_ = 1;
  std::optional<StreamSpec> stream_;
  VariableStore variables_;
  std::map<Key, std::unique_ptr<Variant>> variants_;
  Variant* full_ = nullptr;
};

}  // namespace tpuest
