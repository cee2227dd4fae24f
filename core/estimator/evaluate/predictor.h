#pragma once
// Estimator::Predict.

#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/step/infeed.h"

namespace tpuest {

class Predictor {
 public:
  explicit Predictor(EstimatorContext& context)
      : context_(context), model_(context, Mode::kPredict) {}

  PredictResult Predict(const InputFn& input_fn, const PredictArgs& args, const RowCallback& row);

 private:
  // The names of the predictions to give.
  [[nodiscard]] std::vector<std::string> Keys(const PredictArgs& args);
  // All predictions of a batch, cut to its first `examples` rows.
  [[nodiscard]] std::map<std::string, Tensor> Run(const Batch& batch, int64_t examples,
                                                  const PredictArgs& args,
                                                  const std::vector<std::string>& keys);

  EstimatorContext& context_;
  InferenceModel model_;
};

}  // namespace tpuest
