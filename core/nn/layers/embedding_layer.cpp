#include "core/nn/layers/embedding_layer.h"

#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {

Value Embedding::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  if (input_dim < 1) layer.Fail(fmt::format("input_dim is {}, expected at least 1", input_dim));
  if (output_dim < 1) layer.Fail(fmt::format("output_dim is {}, expected at least 1", output_dim));
  if (!IsInteger(x.dtype()) && !IsFloating(x.dtype())) {
    layer.Fail(fmt::format("takes numbers of rows, and its input is {}", NameOf(x.dtype())));
  }
  const Variable* const table =
      layer.AddWeight("embeddings", Shape{input_dim, output_dim}, embeddings_initializer,
                      {.trainable = trainable, .regularizer = &embeddings_regularizer});
  const NameScope nodes = layer.Nodes();
  const bool is_index = x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64;
  const Value rows = is_index ? x : ops::Cast(x, DType::kInt32);
  return layer.Output(ops::Cast(ops::GatherV2(table->value, rows), context.compute_dtype));
}

}  // namespace tpuest::nn
