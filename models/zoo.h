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

// The model_fn of a model in a job; both are copied. Errors carry the model's place where no nearer
// one is known.
[[nodiscard]] ModelFn MakeModelFn(const AnyModel& model, const JobContext& job);

// The range of this model's labels; a head without a range has none, and takes any number.
[[nodiscard]] nn::Labels<nn::LabelRange> LabelRangesOf(const AnyModel& model);

// True if the model names its optimizers itself: the job must not.
[[nodiscard]] bool NamesOptimizers(const AnyModel& model);

// True if an optimizer that the model names keeps averages of its variables.
[[nodiscard]] bool ComputesInBfloat16(const AnyModel& model);
[[nodiscard]] bool KeepsAverages(const AnyModel& model);

// The feature columns that the model takes; nullopt: it takes none. Throws Error kUsage for what it
// cannot name.
[[nodiscard]] std::optional<std::vector<nn::ColumnRef>> ColumnsOf(
    const AnyModel& model, const nn::FeatureColumns& columns);

// The features that tf.Examples must hold for the model's feature columns
// (tf.feature_column.make_parse_example_spec); nullopt: the model has none. Throws Error kUsage, in
// TensorFlow's words, where two columns read one feature in two ways.
[[nodiscard]] std::optional<std::map<std::string, nn::FeatureSpec>> ParseSpecOf(
    const AnyModel& model, const nn::FeatureColumns& columns);

}  // namespace tpuest::models

namespace tpuest {
extern template class OneOf<models::AnyModelTypes>;
}  // namespace tpuest
