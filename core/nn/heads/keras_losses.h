#pragma once
// Losses and metrics of tf.keras by name, and the losses of tf.compat.v1.losses, for one output of
// a model. Labels y and predictions p are [batch, ..., D]. Each function gives one number per
// example and position, [batch, ...]; the elementwise losses of tf.compat.v1 give one per element,
// [batch, ..., D].

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Arguments of a tf.keras function besides labels and predictions.
struct KerasArguments {
  bool from_logits = false;                  // for crossentropies
  double label_smoothing = 0.0;              // for crossentropies
  int64_t axis = -1;                         // for crossentropies and cosine_similarity
  std::optional<int64_t> ignore_class = {};  // for sparse_categorical_crossentropy
  double delta = 1.0;                        // for huber
  double gamma = 2.0;                        // for focal crossentropies
  double alpha = 0.25;                       // for focal crossentropies
  bool apply_class_balancing = false;        // for binary_focal_crossentropy: use alpha
  std::optional<double> threshold = {};      // for binary_accuracy; nullopt is 0.5
  int64_t k = 5;                             // for the top_k accuracies
};

// The names of losses, short and long: "mse" and "mean_squared_error".
[[nodiscard]] const std::vector<std::string_view>& KerasLossNames();
// Returns the long form of a loss's short name; returns any other name unchanged.
[[nodiscard]] std::string_view LongKerasName(std::string_view name);
// The names of metrics that are means: all losses and the accuracies. "accuracy" and "crossentropy"
// are resolved by the output, see KerasFunctionOf.
[[nodiscard]] const std::vector<std::string_view>& KerasMeanNames();

// Resolves a name to a function: "accuracy" is binary if the output's last dimension is 1 or the
// loss is binary_crossentropy, sparse if the loss is sparse, otherwise categorical. Short names
// become long; other names stay.
[[nodiscard]] std::string KerasFunctionOf(std::string_view name, std::string_view loss,
                                          Value predictions);

// IsKerasArgument: whether any Keras loss or metric has an argument of this name. KerasTakes:
// whether this function or metric class (such as AUC) has it.
[[nodiscard]] bool IsKerasArgument(std::string_view name);
[[nodiscard]] bool KerasTakes(std::string_view function, std::string_view argument);

// True if the labels of this function are class numbers; otherwise they have the predictions'
// shape.
[[nodiscard]] bool TakesClassNumbers(std::string_view function);

// Returns the labels in the form that fits the predictions: numbers, [batch, ..., D] (class
// numbers: [batch, ...]), with a last dimension of 1 added if they lack it. Throws Error kUsage for
// other shapes and for strings.
[[nodiscard]] Value KerasLabels(Value labels, Value predictions, std::string_view function);

// Returns which results of KerasFunction count, float32 [batch, ...]: 0 where the label, as
// KerasLabels returns it, is ignore_class, otherwise 1. Not valid() if all count.
[[nodiscard]] Value KerasMask(std::string_view function, Value labels,
                              const KerasArguments& arguments);

// Returns the loss or metric, float32 [batch, ...], 0 where KerasMask is 0. As in tf.keras, a
// crossentropy of the output of a sigmoid or softmax is computed from the input of that op. Throws
// Error kUsage for an unknown name.
[[nodiscard]] Value KerasFunction(std::string_view function, Value labels, Value predictions,
                                  const KerasArguments& arguments);

}  // namespace tpuest::nn
