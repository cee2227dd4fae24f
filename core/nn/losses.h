#pragma once
// Losses of single examples, and their reduction to one number.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Returns -log softmax(logits)[label]: logits [B, C] float32, labels [B, 1] integers -> [B, 1].
// With label_smoothing s the target is 1 - s + s/C for the label's class and s/C for every other
// class.
[[nodiscard]] Value SparseSoftmaxCrossEntropy(Value logits, Value labels,
                                              double label_smoothing = 0.0);

// Returns max(x, 0) - x z + log(1 + exp(-|x|)) for logits x and labels z in [0, 1], both [B, D]
// float32 (tf.nn.sigmoid_cross_entropy_with_logits).
[[nodiscard]] Value SigmoidCrossEntropy(Value logits, Value labels);

// Returns (predictions - labels)^2, element by element, in their common shape and dtype.
[[nodiscard]] Value SquaredError(Value predictions, Value labels);

// Returns exp(x) - z x for logits x and labels z, both [B, D] float32 (tf.nn.log_poisson_loss): the
// negative log likelihood of a count z with mean exp(x), without log z!. `full` adds Stirling's
// approximation of log z!, z log z - z + log(2 pi z) / 2, for z outside [0, 1].
[[nodiscard]] Value LogPoissonLoss(Value logits, Value labels, bool full);

// How tf.losses reduces losses l with weights w (broadcast to l) to one number.
enum class LossReduction {
  kSum,                 // sum w l
  kSumOverBatchSize,    // sum w l / number of elements of l
  kMean,                // sum w l / sum w
  kSumByNonzeroWeights  // sum w l / number of w that are not 0
};

// The names of the reductions in a job: TensorFlow's names, in upper or lower case.
[[nodiscard]] const std::vector<std::string_view>& LossReductionNames();
// The reduction of that name. Throws Error kUsage, in TensorFlow's words, for another name.
[[nodiscard]] LossReduction ParseLossReduction(const std::string& name);

// The weights of the examples in the loss of a step.
struct LossWeights {
  // Weights [B], [B, 1] or of the losses' shape; not valid() if all are 1.
  Value weights;
  // Marks real rows, [B, 1]: 1 for an example, 0 for padding; not valid() if there is no padding.
  // Padding counts neither in the numerator nor in the denominator. Both are then summed over all
  // replicas, because padding spreads examples unevenly.
  Value example_weight;
  int replicas = 1;
};

// Returns the loss of a step, float32 [], from losses [B, D] float32.
[[nodiscard]] Value ReduceLoss(Value losses, const LossWeights& weights, LossReduction reduction);

// Returns a * b; a factor that is not valid() counts as 1.
[[nodiscard]] Value ProductOfWeights(Value a, Value b);

}  // namespace tpuest::nn
