#include "core/nn/layers/embedding_layer.h"

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

// The rows of lists [B, K] as one each, [B, D]; a number below 0 is none, and no numbers give
// zeros.
Value Combined(Value table, Value numbers, const std::string& combiner) {
  const Value zero = numbers.graph().ScalarOf(numbers.dtype(), 0);
  const Value there = ops::GreaterEqual(numbers, zero);
  const Value taken = ops::GatherV2(table, ops::Maximum(numbers, zero));
  const Value none = table.graph().ScalarOf(DType::kFloat, 0);
  const Value sum = ops::Sum(ops::SelectV2(ops::ExpandDims(there, -1), taken, none), {1});
  if (combiner == "sum") return sum;
  const Value count = ops::Sum(ops::Cast(there, DType::kFloat), {1}, /*keep_dims=*/true);
  return ops::DivNoNan(sum, combiner == "mean" ? count : ops::Sqrt(count));
}

}  // namespace

Value Embedding::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  if (input_dim < 1) layer.Fail(fmt::format("input_dim is {}, expected at least 1", input_dim));
  if (output_dim < 1) layer.Fail(fmt::format("output_dim is {}, expected at least 1", output_dim));
  if (!IsInteger(x.dtype()) && !IsFloating(x.dtype())) {
    layer.Fail(fmt::format("takes row numbers, found {}", NameOf(x.dtype())));
  }
  const Variable* const table =
      layer.AddWeight("embeddings", Shape{input_dim, output_dim}, embeddings_initializer,
                      {.trainable = trainable,
                       .regularizer = &embeddings_regularizer,
                       .constraint = &embeddings_constraint});
  const NameScope nodes = layer.Nodes();
  const bool is_index = x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64;
  const Value rows = is_index ? x : ops::Cast(x, DType::kInt32);
  if (!combiner.empty()) {
    if (!rows.shape().known_rank() || rows.shape().rank() != 2) {
      layer.Fail(fmt::format("combines lists [batch, K], found {}", rows.shape().Text()));
    }
    return layer.Output(ops::Cast(Combined(table->value, rows, combiner), context.compute_dtype),
                        activity_regularizer);
  }
  return layer.Output(ops::Cast(ops::GatherV2(table->value, rows), context.compute_dtype),
                      activity_regularizer);
}

}  // namespace tpuest::nn
