#pragma once
// The models that a job can name.

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/one_of.h"
#include "core/nn/columns/column_set.h"
#include "models/baseline.h"
#include "models/dnn.h"
#include "models/dnn_linear_combined.h"
#include "models/functional.h"
#include "models/linear.h"
#include "models/mnist_cnn.h"
#include "models/saved_model.h"
#include "models/sequential.h"

namespace tpuest::models {

// The options of every model; `model: {type: ...}` chooses one.
using AnyModelTypes =
    std::variant<Sequential, Functional, MnistCnn, SavedModelModel, LinearClassifier,
                 LinearRegressor, LinearEstimator, DnnClassifier, DnnRegressor, DnnEstimator,
                 DnnLinearCombinedClassifier, DnnLinearCombinedRegressor,
                 DnnLinearCombinedEstimator, BaselineClassifier, BaselineRegressor,
                 BaselineEstimator>;
using AnyModel = OneOf<AnyModelTypes>;

// Returns the model_fn of a model in a job; both are copied. Errors without a nearer place get the
// model's.
[[nodiscard]] ModelFn MakeModelFn(const AnyModel& model, const JobContext& job);

// The range of this model's labels; empty if the head accepts any number.
[[nodiscard]] nn::Labels<nn::LabelRange> LabelRangesOf(const AnyModel& model);

// True if the model names its own optimizers; then the job must not.
[[nodiscard]] bool NamesOptimizers(const AnyModel& model);

[[nodiscard]] bool ComputesInBfloat16(const AnyModel& model);
// True if an optimizer that the model names keeps averages of its variables.
[[nodiscard]] bool KeepsAverages(const AnyModel& model);

// The feature columns that the model takes; nullopt if it takes none. Throws Error kUsage for
// columns that it cannot name.
[[nodiscard]] std::optional<std::vector<nn::ColumnRef>> ColumnsOf(
    const AnyModel& model, const nn::FeatureColumns& columns);

// The features that tf.Examples must contain for the model's feature columns
// (tf.feature_column.make_parse_example_spec); nullopt if the model has no columns. Throws Error
// kUsage, in TensorFlow's words, if two columns read one feature differently.
[[nodiscard]] std::optional<std::map<std::string, nn::FeatureSpec>> ParseSpecOf(
    const AnyModel& model, const nn::FeatureColumns& columns);

}  // namespace tpuest::models

namespace tpuest {
extern template class OneOf<models::AnyModelTypes>;
}  // namespace tpuest
