#include "core/ops/image_hlo.h"

#include <algorithm>
#include <array>

#include "core/ops/hlo_math.h"

namespace tpuest::ops {
namespace {

using Shares = std::vector<std::vector<Resize::Share>>;

// Share k of every result of an axis: its pixels, and their weights along that axis of an image.
struct Part {
  HloValue pixels;   // int32 [results, 1]
  HloValue weights;  // float
};

std::vector<Part> PartsOf(HloBuilder& hlo, const Shares& shares, int64_t axis) {
  size_t most = 0;
  for (const auto& each : shares) most = std::max(most, each.size());
  const auto results = static_cast<int64_t>(shares.size());
  Shape along({1, 1, 1, 1});
  along.set_dim(static_cast<int>(axis), results);
  std::vector<Part> parts;
  for (size_t k = 0; k < most; ++k) {
    Tensor pixels(DType::kInt32, {results, 1});
    Tensor weights(DType::kFloat, along);
    for (size_t i = 0; i < shares.size(); ++i) {
      const bool there = k < shares[i].size();
      pixels.data<int32_t>()[i] = there ? static_cast<int32_t>(shares[i][k].pixel) : 0;
      weights.data<float>()[i] = there ? shares[i][k].weight : 0.0F;
    }
    parts.push_back({hlo.Constant(pixels), hlo.Constant(weights)});
  }
  return parts;
}

IndexAxes ShareAxes(int64_t axis) {
  IndexAxes axes{.window = {}, .dropped = {axis}, .starts = {axis}};
  for (int64_t other = 0; other < 4; ++other) {
    if (other != axis) axes.window.push_back(other);
  }
  return axes;
}

// Resizes x along an axis by its shares. If each result is one whole pixel, keeps the dtype.
HloValue AlongAxis(HloBuilder& hlo, const HloValue& x, int64_t axis, const Shares& shares) {
  Shape shape = x.shape;
  shape.set_dim(static_cast<int>(axis), static_cast<int64_t>(shares.size()));
  std::vector<int64_t> sizes = x.shape.dims();
  sizes[static_cast<size_t>(axis)] = 1;
  const std::vector<Part> parts = PartsOf(hlo, shares, axis);
  HloValue sum;
  for (const Part& part : parts) {
    HloValue picked = hlo.Gather(x, part.pixels, ShareAxes(axis), sizes, shape);
    if (parts.size() == 1) return picked;
    const HloValue weighed = hlo.Binary("multiply", picked, part.weights);
    sum = sum.valid() ? hlo.Binary("add", sum, weighed) : weighed;
  }
  return sum;
}

// The gradient of AlongAxis: adds dy at the `in` pixels of the axis.
HloValue BackAlong(HloBuilder& hlo, const HloValue& dy, int64_t axis, int64_t in,
                   const Shares& shares) {
  Shape shape = dy.shape;
  shape.set_dim(static_cast<int>(axis), in);
  HloValue dx = hlo.Full(dy.dtype, shape, 0);
  for (const Part& part : PartsOf(hlo, shares, axis)) {
    const HloValue weighed = hlo.Binary("multiply", dy, part.weights);
    dx = hlo.Scatter("add", dx, part.pixels, weighed, ShareAxes(axis));
  }
  return dx;
}

}  // namespace

void LowerResize(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  HloValue x = c.Input(0);
  const ResizeShape shape = ResizeShapeOf(c.node(), x.shape, c.OutputShape(0));
  if (shape.method != ResizeMethod::kNearest) x = hlo.Convert(x, DType::kFloat);
  const Resize resize(shape);
  c.Output(0, AlongAxis(hlo, AlongAxis(hlo, x, 1, resize.RowShares()), 2, resize.ColumnShares()));
}

void LowerResizeGrad(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue dy = hlo.Convert(c.Input(0), DType::kFloat);
  const Resize resize(ResizeShapeOf(c.node(), c.OutputShape(0), dy.shape));
  const HloValue columns = BackAlong(hlo, dy, 2, c.OutputShape(0).dim(2), resize.ColumnShares());
  const HloValue dx = BackAlong(hlo, columns, 1, c.OutputShape(0).dim(1), resize.RowShares());
  c.Output(0, hlo.Convert(dx, c.OutputDType(0)));
}

// ---- projective transforms ----------------------------------------------------------------------

namespace {

HloTerm Clamped(const HloTerm& at, double last) { return MinOf(MaxOf(at, 0), last); }

// As in the kernels (core/kernels/projective.cpp).
HloTerm InsideImage(FillMode mode, const HloTerm& at, int64_t length) {
  const auto size = static_cast<double>(length);
  const double last = size - 1;
  if (mode == FillMode::kConstant) return at;
  if (mode == FillMode::kNearest || length <= 1) return Clamped(at, last);
  if (mode == FillMode::kReflect) {
    const HloTerm near = FloorOf(-at * (1 / (2 * size))) * (2 * size) + at;
    const HloTerm before = Where(near < -size, near + 2 * size, -near - 1);
    const HloTerm far = at - FloorOf(at * (1 / (2 * size))) * (2 * size);
    const HloTerm behind = Where(far >= size, 2 * size - far - 1, far);
    return Clamped(Where(at < 0, before, Where(at > last, behind, at)), last);
  }
  const HloTerm before = at + (FloorOf(-at * (1 / last)) + 1) * size;
  const HloTerm behind = at - FloorOf(at * (1 / last)) * size;
  return Clamped(Where(at < 0, before, Where(at > last, behind, at)), last);
}

// One of the pixels of each result: its row in the image [N*H*W, C], -1 outside the image, and its
// weight.
struct Corner {
  HloValue row;  // int32 [N, H', W']
  HloTerm inside;
  HloTerm weight;  // float [N, H', W']
};

// The corners for a node with transforms [N or 1, 8] and images [N, H, W, C].
std::vector<Corner> CornersOf(HloBuilder& hlo, const ProjectiveShape& s, int64_t images,
                              const HloValue& transforms) {
  const int64_t count = transforms.dim(0);
  const auto number = [&](int64_t k) {
    const HloValue column = hlo.Slice(transforms, {0, k}, {count, k + 1}, {1, 1});
    return HloTerm(hlo, hlo.Reshape(column, {count, 1, 1}));
  };
  const HloTerm x(hlo, hlo.Iota(DType::kFloat, {1, 1, s.out_width}, 2));
  const HloTerm y(hlo, hlo.Iota(DType::kFloat, {1, s.out_height, 1}, 1));
  const HloTerm depth = number(6) * x + number(7) * y + 1;
  const HloTerm some = Differs(depth, 0);
  const HloTerm safe = Where(some, depth, 1);
  const HloTerm at_x =
      InsideImage(s.fill_mode, (number(0) * x + number(1) * y + number(2)) / safe, s.in_width);
  const HloTerm at_y =
      InsideImage(s.fill_mode, (number(3) * x + number(4) * y + number(5)) / safe, s.in_height);
  const HloTerm image(hlo, hlo.Iota(DType::kInt32, {images, 1, 1}, 0));
  const Shape whole{images, s.out_height, s.out_width};
  const auto corner = [&](const HloTerm& row, const HloTerm& column, const HloTerm& weight) {
    const HloTerm inside = Both(Both(some, Both(row >= 0, row < static_cast<double>(s.in_height))),
                                Both(column >= 0, column < static_cast<double>(s.in_width)));
    const HloTerm pixel =
        (image * static_cast<double>(s.in_height) + Where(inside, row, 0).As(DType::kInt32)) *
            static_cast<double>(s.in_width) +
        Where(inside, column, 0).As(DType::kInt32);
    return Corner{hlo.Broadcast(Where(inside, pixel, -1).value(), whole),
                  HloTerm(hlo, hlo.Broadcast(inside.value(), whole)),
                  HloTerm(hlo, hlo.Broadcast(weight.value(), whole))};
  };
  if (!s.bilinear) {
    const auto rounded = [](const HloTerm& at) { return at.Unary("round_nearest_afz"); };
    return {corner(rounded(at_y), rounded(at_x), at_x * 0 + 1)};
  }
  const HloTerm top = FloorOf(at_y), left = FloorOf(at_x);
  const HloTerm down = at_y - top, right = at_x - left;
  return {corner(top, left, (1 - down) * (1 - right)), corner(top, left + 1, (1 - down) * right),
          corner(top + 1, left, down * (1 - right)), corner(top + 1, left + 1, down * right)};
}

// Broadcasts [N, H', W'] along the channels.
HloTerm BesideChannels(HloBuilder& hlo, const HloTerm& x) {
  std::vector<int64_t> dims = x.shape().dims();
  dims.push_back(1);
  return {hlo, hlo.Reshape(x.value(), Shape(dims))};
}

}  // namespace

void LowerProjective(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue images = c.Input(0);
  const ProjectiveShape s = ProjectiveShapeOf(c.node(), images.shape, c.OutputShape(0));
  const HloValue rows = hlo.Reshape(images, {images.dim(0) * s.in_height * s.in_width, s.channels});
  const bool exact = images.dtype == DType::kDouble || !s.bilinear;
  const DType wide = exact ? images.dtype : DType::kFloat;
  const HloTerm fill = HloTerm(hlo, c.Input(3)).As(images.dtype).As(wide);
  HloValue sum;
  for (const Corner& corner : CornersOf(hlo, s, images.dim(0), c.Input(1))) {
    const HloTerm safe = Where(corner.inside, HloTerm(hlo, corner.row), 0);
    const HloTerm read = HloTerm(hlo, hlo.GatherRows(rows, safe.value())).As(wide);
    const HloTerm pixel = Where(BesideChannels(hlo, corner.inside), read, fill);
    const HloTerm part = s.bilinear ? pixel * BesideChannels(hlo, corner.weight).As(wide) : pixel;
    sum = sum.valid() ? hlo.Binary("add", sum, part.value()) : part.value();
  }
  c.Output(0, hlo.Convert(sum, c.OutputDType(0)));
}

void LowerProjectiveGrad(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloTerm dy = WideInput(c, 2);
  const Shape& images = c.OutputShape(0);
  const ProjectiveShape s = ProjectiveShapeOf(c.node(), images, dy.shape());
  HloValue dx = hlo.Full(dy.dtype(), {images.dim(0) * s.in_height * s.in_width, s.channels}, 0);
  for (const Corner& corner : CornersOf(hlo, s, images.dim(0), c.Input(1))) {
    const HloTerm part = dy * BesideChannels(hlo, corner.weight).As(dy.dtype());
    dx = hlo.ScatterRows("add", dx, corner.row, part.value());
  }
  c.Output(0, hlo.Convert(hlo.Reshape(dx, images), c.OutputDType(0)));
}

}  // namespace tpuest::ops
