#pragma once
// The models that a job can name.

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/columns/column_set.h"
#include "models/baseline.h"
#include "models/dnn.h"
#include "models/dnn_linear_combined.h"
#include "models/linear.h"
#include "models/mnist_cnn.h"
#include "models/saved_model.h"
#include "models/sequential.h"

namespace tpuest::models {

using AnyModel = std::variant<Sequential, MnistCnn, SavedModelModel, LinearClassifier,
                              LinearRegressor, LinearEstimator, DnnClassifier, DnnRegressor,
                              DnnEstimator, DnnLinearCombinedClassifier, DnnLinearCombinedRegressor,
                              DnnLinearCombinedEstimator, BaselineClassifier, BaselineRegressor,
                              BaselineEstimator>;

struct ZooEntry {
  std::string_view type;     // for `model: {type: ...}`
  std::string_view summary;  // one sentence
};

// For `tpuest ls models`, in alphabetical order.
[[nodiscard]] std::vector<ZooEntry> Zoo();

// The model_fn of a model in a job; both are copied. Errors carry the model's place
// where no nearer one is known.
[[nodiscard]] ModelFn MakeModelFn(const AnyModel& model, const JobContext& job);

// What the labels of this model may be; of a head without a range, any number.
[[nodiscard]] nn::Labels<nn::LabelRange> LabelRangesOf(const AnyModel& model);

// Whether the model names its optimizers itself: the job must not.
[[nodiscard]] bool NamesOptimizers(const AnyModel& model);

// Whether an optimizer that the model names keeps averages of its variables.
[[nodiscard]] bool KeepsAverages(const AnyModel& model);

// The feature columns that the model takes; nullopt: it takes none. Error kUsage for what it cannot
// name.
[[nodiscard]] std::optional<std::vector<nn::ColumnRef>> ColumnsOf(
    const AnyModel& model, const nn::FeatureColumns& columns);

// What tf.Examples must hold for the model's feature columns; nullopt: the model has none.
// Error kUsage, in TensorFlow's words, where two of them read one feature in two ways.
[[nodiscard]] std::optional<std::map<std::string, nn::FeatureSpec>> ParseSpecOf(
    const AnyModel& model, const nn::FeatureColumns& columns);

}  // namespace tpuest::models
