#pragma once
// Losses and metrics of tf.keras by name, and the losses of tf.compat.v1.losses, of one output of a
// model. Labels y and predictions p are [batch, ..., D]; each function gives one number an example
// and position, [batch, ...], version 1's of elements one an element, [batch, ..., D].

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// What a function of tf.keras takes beside labels and predictions.
struct KerasArguments {
  bool from_logits = false;                  // of crossentropies
  double label_smoothing = 0.0;              // of crossentropies
  int64_t axis = -1;                         // of crossentropies and cosine_similarity
  std::optional<int64_t> ignore_class = {};  // of sparse_categorical_crossentropy
  double delta = 1.0;                        // of huber
  double gamma = 2.0;                        // of focal crossentropies
  double alpha = 0.25;                       // of focal crossentropies
  bool apply_class_balancing = false;        // of binary_focal_crossentropy: with alpha
  double threshold = 0.5;                    // of binary_accuracy
  int64_t k = 5;                             // of the top_k accuracies
};

// The names of losses, short and long: "mse" and "mean_squared_error".
[[nodiscard]] const std::vector<std::string_view>& KerasLossNames();
// The long form of a short name of a loss; every other name as it is.
[[nodiscard]] std::string_view LongKerasName(std::string_view name);
// The names of metrics that are means: all losses and the accuracies. "accuracy" and "crossentropy"
// stand for what suits the output.
[[nodiscard]] const std::vector<std::string_view>& KerasMeanNames();

// The function that a name stands for: "accuracy" is binary where the output's last dimension is 1
// or the loss is binary_crossentropy, sparse where the loss is, else categorical. Other names stay,
// the long form for the short.
[[nodiscard]] std::string KerasFunctionOf(std::string_view name, std::string_view loss,
                                          Value predictions);

// Whether some loss or metric has an argument of this name in Keras, and whether this one has it;
// metrics are functions, and classes such as AUC.
[[nodiscard]] bool IsKerasArgument(std::string_view name);
[[nodiscard]] bool KerasTakes(std::string_view function, std::string_view argument);

// True if the labels of a function of this name are class numbers, not of the predictions' shape.
[[nodiscard]] bool TakesClassNumbers(std::string_view function);

// The labels as they go with the predictions: numbers, [batch, ..., D] (class numbers [batch,
// ...]), a last dimension of 1 added where they lack it. Throws Error kUsage for other shapes and
// for strings.
[[nodiscard]] Value KerasLabels(Value labels, Value predictions, std::string_view function);

// Which numbers of KerasFunction count, float32 [batch, ...]: 1, and 0 where the label, as
// KerasLabels gives it, is ignore_class. Not valid(): all do.
[[nodiscard]] Value KerasMask(std::string_view function, Value labels,
                              const KerasArguments& arguments);

// The loss or metric, float32 [batch, ...], 0 where KerasMask is. A crossentropy of what a sigmoid
// or softmax gives is computed from that one's input, as tf.keras does. Throws Error kUsage for a
// name that is none.
[[nodiscard]] Value KerasFunction(std::string_view function, Value labels, Value predictions,
                                  const KerasArguments& arguments);

}  // namespace tpuest::nn
