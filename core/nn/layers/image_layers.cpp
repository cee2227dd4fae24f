#include "core/nn/layers/image_layers.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/kernels/resample.h"
#include "core/nn/layers/draw.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/image.h"
#include "core/ops/matmul.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {

namespace {

struct NamedKernel {
  std::string_view name;
  ResampleKernel kernel;
};
// The kernels for which tf.image.resize uses the op ScaleAndTranslate.
constexpr std::array kKernels = {NamedKernel{"lanczos3", ResampleKernel::kLanczos3},
                                 NamedKernel{"lanczos5", ResampleKernel::kLanczos5},
                                 NamedKernel{"gaussian", ResampleKernel::kGaussian},
                                 NamedKernel{"mitchellcubic", ResampleKernel::kMitchellCubic}};

// x [N, H, W, C] with an axis in another length: the product with the weights of its kernel.
Value ResampledAlong(Value x, int axis, int64_t length, ResampleKernel kernel) {
  const int64_t in = x.shape().dim(axis);
  const Resample resample({.kernel = kernel,
                           .in_height = in,
                           .in_width = 1,
                           .out_height = length,
                           .out_width = 1,
                           .channels = 1});
  const Value weights =
      x.graph().Constant(Tensor::Of<float>(Shape{length, in}, resample.RowWeights()), "weights");
  std::vector<int64_t> perm(4);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  const Value turned = ops::Transpose(x, perm);
  Shape shape = turned.shape();
  shape.set_dim(0, kUnknownDim);
  shape.set_dim(-1, length);
  const Value rows = ops::Reshape(turned, Shape{kUnknownDim, in});
  const Value product = ops::MatMul(rows, weights, {.transpose_b = true});
  return ops::Transpose(ops::Reshape(product, shape), perm);
}

}  // namespace

Value Resized(Value x, int64_t height, int64_t width, std::string_view interpolation) {
  if (interpolation == "nearest") return ops::ResizeNearestNeighbor(x, height, width);
  for (const NamedKernel& known : kKernels) {
    if (known.name != interpolation) continue;
    const Value wide = ops::Cast(x, DType::kFloat);
    const Value high = ResampledAlong(wide, 1, height, known.kernel);
    return ops::Cast(ResampledAlong(high, 2, width, known.kernel), x.dtype());
  }
  const Value resized = interpolation == "bicubic" ? ops::ResizeBicubic(x, height, width)
                        : interpolation == "area"  ? ops::ResizeArea(x, height, width)
                                                   : ops::ResizeBilinear(x, height, width);
  return ops::Cast(resized, x.dtype());
}

namespace {

struct ImageSize {
  int64_t height;
  int64_t width;
};

ImageSize ImageSizeOf(const LayerScope& layer, Value x) {
  (void)layer.Channels(x, 4);
  return {layer.Dimension(x, 1), layer.Dimension(x, 2)};
}

void CheckTarget(const LayerScope& layer, const ImageSize& target) {
  if (target.height < 1 || target.width < 1) {
    layer.Fail(fmt::format("height and width are {} and {}, expected positive numbers",
                           target.height, target.width));
  }
}

// The part of `target` about the middle of an image.
Value Middle(Value x, const ImageSize& size, const ImageSize& target) {
  return ops::Slice(x, {0, (size.height - target.height) / 2, (size.width - target.width) / 2, 0},
                    {-1, target.height, target.width, -1});
}

// tf.keras.preprocessing.image.smart_resize, whose products are of float32.
Value ResizedMiddle(Value x, const ImageSize& size, const ImageSize& target,
                    std::string_view interpolation) {
  const auto cut = [](int64_t other, int64_t target_side, int64_t target_other, int64_t side) {
    const float fitting =
        static_cast<float>(other * target_side) / static_cast<float>(target_other);
    return std::min(side, static_cast<int64_t>(fitting));
  };
  const ImageSize part = {
      std::max<int64_t>(cut(size.width, target.height, target.width, size.height), 1),
      std::max<int64_t>(cut(size.height, target.width, target.height, size.width), 1)};
  return Resized(Middle(x, size, part), target.height, target.width, interpolation);
}

}  // namespace

Value Resizing::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const ImageSize size = ImageSizeOf(layer, x);
  const ImageSize target = {height, width};
  CheckTarget(layer, target);
  const NameScope nodes = layer.Nodes();
  return layer.Output(crop_to_aspect_ratio ? ResizedMiddle(x, size, target, interpolation)
                                           : Resized(x, height, width, interpolation));
}

Value CenterCrop::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const ImageSize size = ImageSizeOf(layer, x);
  const ImageSize target = {height, width};
  CheckTarget(layer, target);
  const NameScope nodes = layer.Nodes();
  const bool fits = size.height >= height && size.width >= width;
  return layer.Output(fits ? Middle(x, size, target) : ResizedMiddle(x, size, target, "bilinear"));
}

// ---- at random ----------------------------------------------------------------------------------

namespace {

// A number for each image, uniform in [0, 1): float32 [batch, 1, 1, 1], whatever the precision.
// Several draws of a layer are numbered from 0.
Value UniformEach(Value x, const Seed& seed, int64_t draw = 0) {
  return DrawUniform(ops::Slice(x, {0, 0, 0, 0}, {-1, 1, 1, 1}), seed, draw);
}

struct Bounds {
  double low;
  double high;
};

Bounds BoundsOf(const LayerScope& layer, const Factor& factor, std::string_view what) {
  const auto* const one = std::get_if<double>(&factor);
  const auto* const two = std::get_if<std::vector<double>>(&factor);
  if (two != nullptr && two->size() != 2) {
    layer.Fail(fmt::format("{} must be a number or [from, to]", what));
  }
  const Bounds bounds = one != nullptr ? Bounds{-*one, *one} : Bounds{two->at(0), two->at(1)};
  if (!(bounds.low <= bounds.high)) {
    layer.Fail(fmt::format("{} is from {} to {}, expected the lower bound first", what, bounds.low,
                           bounds.high));
  }
  return bounds;
}

// BoundsOf parts of a whole.
Bounds PartsOf(const LayerScope& layer, const Factor& factor, std::string_view what) {
  const Bounds bounds = BoundsOf(layer, factor, what);
  if (bounds.low < -1 || bounds.high > 1) {
    layer.Fail(
        fmt::format("{} is from {} to {}, expected within -1 to 1", what, bounds.low, bounds.high));
  }
  return bounds;
}

// A number for each image between bounds: [batch, 1, 1, 1].
Value DrawEach(Value x, const Bounds& bounds, const Seed& seed, int64_t draw = 0) {
  return ops::AddV2(ops::Mul(UniformEach(x, seed, draw), bounds.high - bounds.low), bounds.low);
}

// The images under a transform each; the numbers are [batch, 1, 1, 1].
Value Transformed(Value x, const std::vector<Value>& numbers, const ImageSize& size,
                  const ops::ProjectiveOptions& how) {
  const Value zero = ops::Mul(numbers.front(), 0.0);
  std::vector<Value> all = numbers;
  all.insert(all.end(), {zero, zero});
  const Value transforms = ops::FlattenRows(ops::ConcatV2(all, 3));
  return ops::ImageProjectiveTransformV3(x, transforms, size.height, size.width, how);
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

template <class Layer>
ops::ProjectiveOptions HowToFill(const Layer& layer) {
  return {.interpolation = Upper(layer.interpolation),
          .fill_mode = Upper(layer.fill_mode),
          .fill_value = layer.fill_value};
}

}  // namespace

Value RandomCrop::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const ImageSize size = ImageSizeOf(layer, x);
  const ImageSize target = {height, width};
  CheckTarget(layer, target);
  const NameScope nodes = layer.Nodes();
  const int64_t rows = size.height - height, columns = size.width - width;  // that are left out
  if (!context.training || rows < 0 || columns < 0) {
    return layer.Output(ResizedMiddle(x, size, target, "bilinear"));
  }
  // The first row, or column: every one as often.
  const auto first = [&](int64_t left_out, int64_t draw) {
    const Value uniform = UniformEach(x, seed, draw);
    const Value any = ops::Floor(ops::Mul(uniform, static_cast<double>(left_out + 1)));
    return ops::Minimum(any, static_cast<double>(left_out));
  };
  const Value top = first(rows, 0);
  const Value left = first(columns, 1);
  const Value zero = ops::Mul(top, 0.0);
  const Value one = ops::AddV2(zero, 1.0);
  return layer.Output(Transformed(x, {one, zero, left, zero, one, top}, target,
                                  {.interpolation = "NEAREST", .fill_mode = "NEAREST"}));
}

Value RandomFlip::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)layer.Channels(x, 4);
  if (!context.training) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const auto flip = [this](Value image, size_t axis, int64_t draw) {
    ops::StridedSliceOptions turned{.begin = {0, 0, 0, 0},
                                    .end = {0, 0, 0, 0},
                                    .strides = {1, 1, 1, 1},
                                    .begin_mask = 15,
                                    .end_mask = 15};
    turned.strides[axis] = -1;
    const Value half = image.graph().ScalarOf(DType::kFloat, 0.5, "half");
    const Value flips = ops::Greater(UniformEach(image, seed, draw), half);
    return ops::SelectV2(flips, ops::StridedSlice(image, turned), image);
  };
  Value y = x;
  if (mode != "vertical") y = flip(y, 2, 0);
  if (mode != "horizontal") y = flip(y, 1, 1);
  return layer.Output(y);
}

Value RandomRotation::Apply(LayerContext& context, Value x) const {
  constexpr double kTurn = 6.283185307179586;
  const LayerScope layer(context, name, kType, place);
  const ImageSize size = ImageSizeOf(layer, x);
  const Bounds turns = BoundsOf(layer, factor, "factor");
  if (!context.training) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const Value angle = DrawEach(x, {turns.low * kTurn, turns.high * kTurn}, seed);
  const Value cos = ops::Cos(angle);
  const Value sin = ops::Sin(angle);
  // The shift that keeps the centre ((W - 1) / 2, (H - 1) / 2) in place.
  const auto w = static_cast<double>(size.width - 1);
  const auto h = static_cast<double>(size.height - 1);
  const Value x_offset =
      ops::RealDiv(ops::Sub(w, ops::Sub(ops::Mul(cos, w), ops::Mul(sin, h))), 2.0);
  const Value y_offset =
      ops::RealDiv(ops::Sub(h, ops::AddV2(ops::Mul(sin, w), ops::Mul(cos, h))), 2.0);
  return layer.Output(
      Transformed(x, {cos, ops::Neg(sin), x_offset, sin, cos, y_offset}, size, HowToFill(*this)));
}

Value RandomTranslation::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const ImageSize size = ImageSizeOf(layer, x);
  const Bounds down = PartsOf(layer, height_factor, "height_factor");
  const Bounds right = PartsOf(layer, width_factor, "width_factor");
  if (!context.training) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const Value y_offset = ops::Mul(DrawEach(x, down, seed), -static_cast<double>(size.height));
  const Value x_offset = ops::Mul(DrawEach(x, right, seed, 1), -static_cast<double>(size.width));
  const Value zero = ops::Mul(y_offset, 0.0);
  const Value one = ops::AddV2(zero, 1.0);
  return layer.Output(
      Transformed(x, {one, zero, x_offset, zero, one, y_offset}, size, HowToFill(*this)));
}

Value RandomZoom::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const ImageSize size = ImageSizeOf(layer, x);
  const Bounds high = PartsOf(layer, height_factor, "height_factor");
  std::optional<Bounds> wide;
  if (width_factor) wide = PartsOf(layer, *width_factor, "width_factor");
  if (!context.training) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const Value y_zoom = DrawEach(x, {1 + high.low, 1 + high.high}, seed);
  const Value x_zoom = wide ? DrawEach(x, {1 + wide->low, 1 + wide->high}, seed, 1) : y_zoom;
  const auto offset = [](Value zoom, int64_t side) {
    return ops::Mul(ops::Sub(1.0, zoom), static_cast<double>(side - 1) / 2);
  };
  const Value zero = ops::Mul(y_zoom, 0.0);
  return layer.Output(Transformed(
      x, {x_zoom, zero, offset(x_zoom, size.width), zero, y_zoom, offset(y_zoom, size.height)},
      size, HowToFill(*this)));
}

Value RandomContrast::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)layer.Channels(x, 4);
  const auto* const both = std::get_if<double>(&factor);
  const Factor less_more = both != nullptr ? Factor(std::vector<double>{*both, *both}) : factor;
  const auto& two = std::get<std::vector<double>>(less_more);
  if (two.size() != 2 || !(two[0] >= 0 && two[0] <= 1 && two[1] >= 0)) {
    layer.Fail("factor must be a number from 0 to 1, or [less, more] with less from 0 to 1",
               "factor: 0.2 samples from [0.8, 1.2]");
  }
  if (!context.training) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const Value by = DrawEach(x, {1 - two[0], 1 + two[1]}, seed);
  const Value wide = ops::Cast(x, DType::kFloat);
  const Value mean = ops::Mean(wide, {1, 2}, true);
  const Value changed = ops::AddV2(ops::Mul(ops::Sub(wide, mean), by), mean);
  return layer.Output(ops::Cast(ops::ClipByValue(changed, 0.0, 255.0), x.dtype()));
}

Value RandomBrightness::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)layer.Channels(x, 4);
  const Bounds parts = PartsOf(layer, factor, "factor");
  if (value_range.size() != 2 || !(value_range[0] < value_range[1])) {
    layer.Fail("value_range must be [least, most]");
  }
  if (!context.training) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const double range = value_range[1] - value_range[0];
  const Value more = DrawEach(x, {parts.low * range, parts.high * range}, seed);
  const Value changed = ops::AddV2(ops::Cast(x, DType::kFloat), more);
  return layer.Output(
      ops::Cast(ops::ClipByValue(changed, value_range[0], value_range[1]), x.dtype()));
}

}  // namespace tpuest::nn
