#include "core/nn/layers/padding_layers.h"

#include <algorithm>
#include <utility>

#include "core/nn/layers/image_layers.h"
#include "core/ops/array.h"

namespace tpuest::nn {
namespace {

using Sides2 = std::pair<int64_t, int64_t>;  // before, behind

std::vector<Sides2> PerAxis(const Margins& margins, int axes) {
  if (const auto* const all = std::get_if<int64_t>(&margins)) {
    return std::vector<Sides2>(static_cast<size_t>(axes), {*all, *all});
  }
  std::vector<Sides2> sides;
  if (const auto* const numbers = std::get_if<std::vector<int64_t>>(&margins)) {
    if (axes == 1 && numbers->size() == 2) return {{numbers->at(0), numbers->at(1)}};
    for (const int64_t number : *numbers) sides.emplace_back(number, number);
    return sides;
  }
  for (const auto& pair : std::get<std::vector<std::vector<int64_t>>>(margins)) {
    if (pair.size() != 2) return {};
    sides.emplace_back(pair[0], pair[1]);
  }
  return sides;
}

// The margins of each axis between batch and channels. Fails unless they are as many, and at least
// 0.
std::vector<Sides2> Checked(const LayerScope& layer, const Margins& margins, int axes,
                            std::string_view what) {
  std::vector<Sides2> sides = PerAxis(margins, axes);
  const bool fits = static_cast<int>(sides.size()) == axes &&
                    std::all_of(sides.begin(), sides.end(),
                                [](const Sides2& s) { return s.first >= 0 && s.second >= 0; });
  if (!fits) {
    layer.Fail(fmt::format("{} must be one number of at least 0, {}, or [before, after]{}", what,
                           axes == 1 ? "a list of one" : fmt::format("{} of them", axes),
                           axes == 1 ? "" : " for each axis"));
  }
  return sides;
}

}  // namespace

template <int axes>
Value ZeroPadding<axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)layer.Channels(x, axes + 2);
  std::vector<Sides2> sides = Checked(layer, padding, axes, "padding");
  sides.insert(sides.begin(), {0, 0});
  sides.emplace_back(0, 0);
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Pad(x, sides));
}

template <int axes>
Value Cropping<axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)layer.Channels(x, axes + 2);
  const std::vector<Sides2> sides = Checked(layer, cropping, axes, "cropping");
  ops::StridedSliceOptions slice{.begin = {0}, .end = {0}, .begin_mask = 1, .end_mask = 1};
  for (int i = 0; i < axes; ++i) {
    const auto [before, behind] = sides[static_cast<size_t>(i)];
    const int64_t length = x.shape().dim(i + 1);
    if (length != kUnknownDim && before + behind >= length) {
      layer.Fail(fmt::format("removes {} of {} rows, which leaves none", before + behind, length));
    }
    slice.begin.push_back(before);
    slice.end.push_back(-behind);
    if (behind == 0) slice.end_mask |= int64_t{1} << (i + 1);
  }
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::StridedSlice(x, slice));
}

template <int axes>
Value UpSampling<axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const int64_t channels = layer.Channels(x, axes + 2);
  const auto* const one = std::get_if<int64_t>(&size);
  const std::vector<int64_t> times = one != nullptr
                                         ? std::vector<int64_t>(static_cast<size_t>(axes), *one)
                                         : std::get<std::vector<int64_t>>(size);
  const bool positive = std::all_of(times.begin(), times.end(), [](int64_t n) { return n > 0; });
  if (static_cast<int>(times.size()) != axes || !positive) {
    layer.Fail(fmt::format("size must be one or {} positive integers", axes));
  }
  std::vector<int64_t> apart = {kUnknownDim};  // each row beside an axis of 1
  std::vector<int64_t> multiples = {1};
  std::vector<int64_t> joined = {kUnknownDim};
  for (int i = 0; i < axes; ++i) {
    const int64_t length = layer.Dimension(x, i + 1);
    const int64_t n = times[static_cast<size_t>(i)];
    apart.insert(apart.end(), {length, 1});
    multiples.insert(multiples.end(), {1, n});
    joined.push_back(length * n);
  }
  apart.push_back(channels);
  multiples.push_back(1);
  joined.push_back(channels);
  const NameScope nodes = layer.Nodes();
  if (axes == 2 && interpolation != "nearest") {
    return layer.Output(Resized(x, joined[1], joined[2], interpolation));
  }
  const Value repeated = ops::Tile(ops::Reshape(x, Shape(apart)), multiples);
  return layer.Output(ops::Reshape(repeated, Shape(joined)));
}

template struct ZeroPadding<1>;
template struct ZeroPadding<2>;
template struct ZeroPadding<3>;
template struct Cropping<1>;
template struct Cropping<2>;
template struct Cropping<3>;
template struct UpSampling<1>;
template struct UpSampling<2>;
template struct UpSampling<3>;

}  // namespace tpuest::nn
