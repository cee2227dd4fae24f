#include "core/nn/layers/dense_layer.h"

#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/matmul.h"

namespace tpuest::nn {
namespace {

// The product [..., n] times [n, units]: through a matrix where there are more axes than two.
Value LastAxisProduct(Value x, Value kernel) {
  if (x.shape().rank() == 2) return ops::MatMul(x, kernel);
  const Value rows = ops::Reshape(x, Shape{kUnknownDim, x.shape().dim(-1)});
  Shape shape = x.shape();
  shape.set_dim(0, kUnknownDim);
  shape.set_dim(-1, kernel.shape().dim(1));
  return ops::Reshape(ops::MatMul(rows, kernel), shape);
}

}  // namespace

Value Dense::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  if (units < 1) layer.Fail(fmt::format("units is {}, expected at least 1", units));
  const Shape& shape = x.shape();
  if (!shape.known_rank() || shape.rank() < 2) {
    layer.Fail(fmt::format("takes an input [batch, ..., n], got {}", shape.Text()));
  }
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) == kUnknownDim) {
      layer.Fail(fmt::format("a dimension of its input {} is not known", shape.Text()));
    }
  }
  const Variable* const kernel =
      layer.AddWeight("kernel", Shape{shape.dim(-1), units}, kernel_initializer,
                      {.trainable = trainable,
                       .regularizer = &kernel_regularizer,
                       .constraint = &kernel_constraint});
  const Variable* const bias = use_bias ? layer.AddWeight("bias", Shape{units}, bias_initializer,
                                                          {.trainable = trainable,
                                                           .regularizer = &bias_regularizer,
                                                           .constraint = &bias_constraint})
                                        : nullptr;
  const NameScope nodes = layer.Nodes();
  Value y = LastAxisProduct(x, layer.Use(kernel));
  if (bias != nullptr) y = ops::BiasAdd(y, layer.Use(bias));
  return layer.Output(Activate(activation.value_or("linear"), y), activity_regularizer);
}

}  // namespace tpuest::nn
