#include "models/keras/function_classes.h"

#include <algorithm>
#include <array>

#include "core/nn/heads/keras_losses.h"
#include "models/keras/keras_file.h"

namespace tpuest {
namespace {

constexpr std::array kFunctionClasses = {
    KerasFunctionClass{"mean_squared_error", "MeanSquaredError", "MeanSquaredError"},
    KerasFunctionClass{"mean_absolute_error", "MeanAbsoluteError", "MeanAbsoluteError"},
    KerasFunctionClass{"mean_absolute_percentage_error", "MeanAbsolutePercentageError",
                       "MeanAbsolutePercentageError"},
    KerasFunctionClass{"mean_squared_logarithmic_error", "MeanSquaredLogarithmicError",
                       "MeanSquaredLogarithmicError"},
    KerasFunctionClass{"huber", "Huber", ""},
    KerasFunctionClass{"log_cosh", "LogCosh", "LogCoshError"},
    KerasFunctionClass{"hinge", "Hinge", "Hinge"},
    KerasFunctionClass{"squared_hinge", "SquaredHinge", "SquaredHinge"},
    KerasFunctionClass{"categorical_hinge", "CategoricalHinge", "CategoricalHinge"},
    KerasFunctionClass{"kl_divergence", "KLDivergence", "KLDivergence"},
    KerasFunctionClass{"poisson", "Poisson", "Poisson"},
    KerasFunctionClass{"cosine_similarity", "CosineSimilarity", "CosineSimilarity"},
    KerasFunctionClass{"binary_focal_crossentropy", "BinaryFocalCrossentropy", ""},
    KerasFunctionClass{"categorical_focal_crossentropy", "CategoricalFocalCrossentropy", ""},
    KerasFunctionClass{"binary_crossentropy", "BinaryCrossentropy", "BinaryCrossentropy"},
    KerasFunctionClass{"categorical_crossentropy", "CategoricalCrossentropy",
                       "CategoricalCrossentropy"},
    KerasFunctionClass{"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy",
                       "SparseCategoricalCrossentropy"},
    KerasFunctionClass{"binary_accuracy", "", "BinaryAccuracy"},
    KerasFunctionClass{"categorical_accuracy", "", "CategoricalAccuracy"},
    KerasFunctionClass{"sparse_categorical_accuracy", "", "SparseCategoricalAccuracy"},
    KerasFunctionClass{"top_k_categorical_accuracy", "", "TopKCategoricalAccuracy"},
    KerasFunctionClass{"sparse_top_k_categorical_accuracy", "", "SparseTopKCategoricalAccuracy"},
};

}  // namespace

const KerasFunctionClass* FindKerasFunction(std::string_view name) {
  const auto* const found =
      std::find_if(kFunctionClasses.begin(), kFunctionClasses.end(),
                   [function = nn::LongKerasName(name)](const KerasFunctionClass& one) {
                     return one.function == function;
                   });
  return found == kFunctionClasses.end() ? nullptr : found;
}

std::string KerasFunctionIn(std::string_view name) {
  if (name == "huber_loss") return "huber";  // Keras 2.2's
  for (const KerasFunctionClass& one : kFunctionClasses) {
    if (!name.empty() && (one.loss == name || one.metric == name)) return std::string(one.function);
  }
  const bool is_class = !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
  return is_class && FindKerasFunction(name) == nullptr ? KerasSnakeCase(name) : std::string(name);
}

}  // namespace tpuest
