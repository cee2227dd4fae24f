#pragma once
// Softmax over the last axis and the cross entropies built on it.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// exp(x) / sum(exp(x)) over the last axis; x [..., K].
Value Softmax(Value logits, std::string_view name = "");
// The logarithm of Softmax, without overflow or underflow.
Value LogSoftmax(Value logits, std::string_view name = "");

// loss [N] = -log softmax(logits)[label]; logits [N, K], labels int32 or int64 [N]. A row whose
// label is outside 0..K-1 has loss and gradient NaN, as in TensorFlow; heads check labels
// beforehand.
Value SparseSoftmaxCrossEntropyWithLogits(Value logits, Value labels, std::string_view name = "");
// loss [N] = -sum(labels * log softmax(logits)); logits and labels [N, K]; either may be a single
// row [1, K].
Value SoftmaxCrossEntropyWithLogits(Value logits, Value labels, std::string_view name = "");

OpFamily SoftmaxOps();

}  // namespace tpuest::ops
