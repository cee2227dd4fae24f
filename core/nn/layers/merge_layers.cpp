#include "core/nn/layers/merge_layers.h"

#include <algorithm>

#include "core/nn/layers/unit_length.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

void CheckCount(const LayerScope& layer, size_t count, MergeKind kind) {
  if (kind == MergeKind::kSubtract && count != 2) {
    layer.Fail(fmt::format("takes two inputs, got {}", count), "inputs: [LAYER, LAYER]");
  }
  if (count < 2) {
    layer.Fail(fmt::format("takes two or more inputs, got {}", count), "inputs: [LAYER, LAYER]");
  }
}

// The inputs with one number of axes.
std::vector<Value> OfOneRank(const LayerScope& layer, std::vector<Value> xs) {
  int most = 0;
  for (const Value& x : xs) {
    if (!x.shape().known_rank()) layer.Fail("the rank of an input is not known");
    most = std::max(most, x.shape().rank());
  }
  for (Value& x : xs) {
    while (x.shape().rank() < most) x = ops::ExpandDims(x, 1);
  }
  return xs;
}

Value Merged(MergeKind kind, Value x, Value y) {
  switch (kind) {
    case MergeKind::kAdd:
    case MergeKind::kAverage:
      return ops::AddV2(x, y);
    case MergeKind::kSubtract:
      return ops::Sub(x, y);
    case MergeKind::kMultiply:
      return ops::Mul(x, y);
    case MergeKind::kMaximum:
      return ops::Maximum(x, y);
    case MergeKind::kMinimum:
      return ops::Minimum(x, y);
  }
  return x;
}

// Returns x with the axis at the end, scaled to unit length if requested.
Value AxisLast(const LayerScope& layer, Value x, int64_t axis, bool normalize) {
  const int64_t rank = x.shape().known_rank() ? x.shape().rank() : 0;
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 1 || at >= rank) {
    layer.Fail(
        fmt::format("its input {} has no axis {} besides the batch", x.shape().Text(), axis));
  }
  if (normalize) x = UnitLength(x, {at});
  if (at == rank - 1) return x;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != at) perm.push_back(i);
  }
  perm.push_back(at);
  return ops::Transpose(x, perm);
}

// x with `count` axes of 1 ahead of the axis `at`.
Value WithOnes(Value x, int at, int count) {
  for (int i = 0; i < count; ++i) x = ops::ExpandDims(x, at);
  return x;
}

void CheckVectors(const LayerScope& layer, const std::vector<Value>& xs) {
  if (xs.size() < 2) {
    layer.Fail(fmt::format("takes two or more inputs, got {}", xs.size()),
               "inputs: [LAYER, LAYER]");
  }
  for (const Value& x : xs) {
    const int64_t length = layer.Channels(x, 2);
    const int64_t first = layer.Channels(xs.front(), 2);
    if (length == first) continue;
    layer.Fail(fmt::format("its inputs have lengths {} and {}", first, length),
               "all vectors must have one length: give the dense layer before it as many units as "
               "the tables have columns");
  }
}

// Whether the product of i and j is part of the result.
bool IsTaken(int64_t i, int64_t j, bool self) { return self ? j <= i : j < i; }

}  // namespace

template <MergeKind kind>
Value MergeLayer<kind>::Apply(LayerContext& context, const std::vector<Value>& xs) const {
  const LayerScope layer(context, name, kType, place);
  CheckCount(layer, xs.size(), kind);
  const NameScope nodes = layer.Nodes();
  const std::vector<Value> same = OfOneRank(layer, xs);
  Value y = same.front();
  for (size_t i = 1; i < same.size(); ++i) y = Merged(kind, y, same[i]);
  if (kind == MergeKind::kAverage) y = ops::RealDiv(y, static_cast<double>(xs.size()));
  return layer.Output(y);
}

template struct MergeLayer<MergeKind::kAdd>;
template struct MergeLayer<MergeKind::kSubtract>;
template struct MergeLayer<MergeKind::kMultiply>;
template struct MergeLayer<MergeKind::kAverage>;
template struct MergeLayer<MergeKind::kMaximum>;
template struct MergeLayer<MergeKind::kMinimum>;

Value Concatenate::Apply(LayerContext& context, const std::vector<Value>& xs) const {
  const LayerScope layer(context, name, kType, place);
  if (xs.size() < 2) {
    layer.Fail(fmt::format("takes two or more inputs, got {}", xs.size()),
               "inputs: [LAYER, LAYER]");
  }
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::ConcatV2(xs, static_cast<int>(axis)));
}

Value Dot::Apply(LayerContext& context, const std::vector<Value>& xs) const {
  const LayerScope layer(context, name, kType, place);
  if (xs.size() != 2) {
    layer.Fail(fmt::format("takes two inputs, got {}", xs.size()), "inputs: [LAYER, LAYER]");
  }
  const auto* const both = std::get_if<std::vector<int64_t>>(&axes);
  const std::vector<int64_t> along =
      both != nullptr ? *both : std::vector<int64_t>(2, std::get<int64_t>(axes));
  if (along.size() != 2) layer.Fail(fmt::format("axes has {} numbers, expected 2", along.size()));
  const NameScope nodes = layer.Nodes();
  const Value x = AxisLast(layer, xs[0], along[0], normalize);
  const Value y = AxisLast(layer, xs[1], along[1], normalize);
  if (x.shape().dim(-1) != y.shape().dim(-1)) {
    layer.Fail(fmt::format("its axes have sizes {} and {}", x.shape().dim(-1), y.shape().dim(-1)));
  }
  const int of_x = x.shape().rank() - 2;
  const int of_y = y.shape().rank() - 2;
  const Value products = ops::Mul(WithOnes(x, 1 + of_x, of_y), WithOnes(y, 1, of_x));
  return layer.Output(ops::Sum(products, {-1}, of_x + of_y == 0));
}

Value DotInteraction::Apply(LayerContext& context, const std::vector<Value>& xs) const {
  const LayerScope layer(context, name, kType, place);
  CheckVectors(layer, xs);
  const NameScope nodes = layer.Nodes();
  const Value rows = ops::Pack(xs, 1);
  const Value products = ops::BatchMatMulV2(rows, rows, {.transpose_b = true});
  const auto count = static_cast<int64_t>(xs.size());
  std::vector<int64_t> taken;
  std::vector<float> mask;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      const bool is_taken = IsTaken(i, j, self_interaction);
      if (is_taken) taken.push_back(i * count + j);
      mask.push_back(is_taken ? 1 : 0);
    }
  }
  const Value table = ops::Reshape(products, Shape({kUnknownDim, count * count}));
  if (!skip_gather) {
    return layer.Output(ops::GatherV2(table, ops::Int32s(context.graph, taken, "pairs"), 1));
  }
  const Value kept = context.graph.Constant(
      Tensor::Of<float>(Shape({1, count * count}), mask).Cast(table.dtype()), "mask");
  return layer.Output(ops::Mul(table, kept));
}

}  // namespace tpuest::nn
