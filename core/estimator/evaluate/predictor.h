#pragma once
// Estimator::Predict: a model's predictions of an input, row by row or batch by batch.

#include "core/estimator/evaluate/inference_hooks.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/group/orders.h"
#include "core/estimator/step/infeed.h"

namespace tpuest {

class Predictor {
 public:
  explicit Predictor(EstimatorContext& context)
      : context_(context), model_(context, Mode::kPredict) {}

  // Error kUsage for batch_axis on TPU, for predict_keys of which the model has none, and for a
  // prediction without rows where single examples are asked for.
  PredictResult Predict(const InputFn& input_fn, const PredictArgs& args, const RowCallback& row);
  // In a worker of home.group: runs its part of the batches of a prediction that the chief has
  // begun, to its end. Throws what the input throws, and the group's verdict.
  void FollowChief(const InputFn& input_fn, const PredictOrder& order);

 private:
  // The arguments of one call, settled.
  struct Call {
    const PredictArgs& args;
    const RowCallback& give;
    std::vector<std::string> keys;  // names of the predictions that are given
  };

  void RefuseBatchAxis() const;
  // Opens the input and loads the model for it.
  [[nodiscard]] std::unique_ptr<BatchStream> Load(const InputFn& input_fn, int64_t batch_size,
                                                  const std::optional<SavedState>& saved);
  [[nodiscard]] std::vector<std::string> Keys(const PredictArgs& args);
  // Makes the first batch's predictions and gives none.
  void TryFirst(BatchStream& stream, const Call& call, const std::optional<SavedState>& saved);
  // Gives all rows and puts into the result why they ended.
  void GiveAll(Infeed& infeed, InferenceHooks& hooks, const Call& call, PredictResult& result);
  // Gives the next batch's rows. Returns why no batch comes after it, or "".
  [[nodiscard]] std::string GiveNext(Infeed& infeed, InferenceHooks& hooks, const Call& call,
                                     PredictResult& result);
  // All predictions for a batch, [examples, ...] each: its first `examples` rows; what has no rows
  // is whole. Error kUsage for one of the latter that is to be given row by row.
  [[nodiscard]] std::map<std::string, Tensor> Run(const Batch& batch, int64_t examples,
                                                  const Call& call, StepTrace* trace = nullptr);

  EstimatorContext& context_;
  InferenceModel model_;
};

}  // namespace tpuest
