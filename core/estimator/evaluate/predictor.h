#pragma once
// Estimator::Predict: a model's predictions for an input, row by row or batch by batch.

#include "core/estimator/evaluate/inference_hooks.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/group/control_messages.h"
#include "core/estimator/step/infeed.h"

namespace tpuest {

class Predictor {
 public:
  explicit Predictor(EstimatorContext& context)
      : context_(context), model_(context, Mode::kPredict) {}

  // Throws Error kUsage for batch_axis on TPU, for predict_keys that the model lacks, and for a
  // prediction without rows if single examples are requested.
  PredictResult Predict(const InputFn& input_fn, const PredictArgs& args, const RowCallback& row);
  // In a worker of home.group: runs its part of the batches of the chief's prediction to the end.
  // Throws errors of the input, and the group's verdict.
  void FollowChief(const InputFn& input_fn, const PredictMessage& message);

 private:
  // The resolved arguments of one call.
  struct Call {
    const PredictArgs& args;
    const RowCallback& give;
    std::vector<std::string> keys;  // names of the predictions to return
  };

  void RefuseBatchAxis() const;
  // Opens the input and loads the model for it.
  [[nodiscard]] std::unique_ptr<BatchStream> Load(const InputFn& input_fn, int64_t batch_size,
                                                  const std::optional<SavedState>& saved);
  [[nodiscard]] std::vector<std::string> Keys(const PredictArgs& args);
  // Computes the predictions for the first batch and returns none.
  void TryFirst(BatchStream& stream, const Call& call, const std::optional<SavedState>& saved);
  // Passes on all rows and records in the result why they ended.
  void GiveAll(Infeed& infeed, InferenceHooks& hooks, const Call& call, PredictResult& result);
  // Passes on the next batch's rows. Returns why it is the last batch, or "".
  [[nodiscard]] std::string GiveNext(Infeed& infeed, InferenceHooks& hooks, const Call& call,
                                     PredictResult& result);
  // Returns all predictions for the first `examples` rows of a batch, [examples, ...] each;
  // predictions without rows are whole. Throws Error kUsage for a prediction without rows that is
  // requested row by row.
  [[nodiscard]] std::map<std::string, Tensor> Run(const Batch& batch, int64_t examples,
                                                  const Call& call, StepTrace* trace = nullptr);

  EstimatorContext& context_;
  InferenceModel model_;
};

}  // namespace tpuest
