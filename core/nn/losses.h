#pragma once
// Losses of single examples, and how they become one number.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The losses -log softmax(logits)[label]: logits [B, C] float32, labels [B, 1] integers -> [B, 1].
// With label_smoothing s the target is 1 - s + s/C for the label's class and s/C for the others.
[[nodiscard]] Value SparseSoftmaxCrossEntropy(Value logits, Value labels,
                                              double label_smoothing = 0.0);

// The losses max(x, 0) - x z + log(1 + exp(-|x|)) for logits x and labels z in [0, 1], both [B, D]
// float32 (tf.nn.sigmoid_cross_entropy_with_logits).
[[nodiscard]] Value SigmoidCrossEntropy(Value logits, Value labels);

// The losses (predictions - labels)^2, element by element, of their common shape and dtype.
[[nodiscard]] Value SquaredError(Value predictions, Value labels);

// The losses exp(x) - z x for logits x and labels z, both [B, D] float32 (tf.nn.log_poisson_loss):
// minus the log likelihood of a count z with mean exp(x), without log z!. `full` adds Stirling's
// approximation of that, z log z - z + log(2 pi z) / 2, where z is not in [0, 1].
[[nodiscard]] Value LogPoissonLoss(Value logits, Value labels, bool full);

// The ways in which tf.losses makes one number of losses l with weights w (broadcast to l).
enum class LossReduction {
  kSum,                 // sum w l
  kSumOverBatchSize,    // sum w l / number of elements of l
  kMean,                // sum w l / sum w
  kSumByNonzeroWeights  // sum w l / number of w that are not 0
};

// The words for them in a job: TensorFlow's names, in either case.
[[nodiscard]] const std::vector<std::string_view>& LossReductionNames();
// The reduction of that name. Throws Error kUsage, in TensorFlow's words, for another name.
[[nodiscard]] LossReduction ParseLossReduction(const std::string& name);

// The weight of each example in the loss of a step.
struct LossWeights {
  // Weights [B], [B, 1] or of the losses' shape; not valid(): 1.
  Value weights;
  // Real rows, [B, 1]: 1 for an example and 0 for padding; not valid() if there is no padding.
  // Padding counts neither above nor below the line, and both are then summed over all replicas,
  // since the examples are not spread evenly.
  Value example_weight;
  int replicas = 1;
};

// The loss of a step, float32 [], from losses [B, D] float32.
[[nodiscard]] Value ReduceLoss(Value losses, const LossWeights& weights, LossReduction reduction);

// The product a * b, where either may be not valid() and then counts as 1.
[[nodiscard]] Value ProductOfWeights(Value a, Value b);

}  // namespace tpuest::nn
