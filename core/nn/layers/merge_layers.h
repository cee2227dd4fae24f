#pragma once
// Layers that combine several tensors: Keras' Add, Subtract, Multiply, Average, Maximum, Minimum,
// Concatenate and Dot, and DotInteraction of TensorFlow Recommenders.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

enum class MergeKind { kAdd, kSubtract, kMultiply, kAverage, kMaximum, kMinimum };

[[nodiscard]] constexpr LayerType MergeTypeOf(MergeKind kind) {
  constexpr LayerType kTypes[] = {{"add",
                                   {"Add"},
                                   "name of the layer; default: add, add_1, ...",
                                   "the sum of inputs, element by element"},
                                  {"subtract",
                                   {"Subtract"},
                                   "name of the layer; default: subtract, subtract_1, ...",
                                   "the difference of two inputs, element by element"},
                                  {"multiply",
                                   {"Multiply"},
                                   "name of the layer; default: multiply, multiply_1, ...",
                                   "the product of inputs, element by element"},
                                  {"average",
                                   {"Average"},
                                   "name of the layer; default: average, average_1, ...",
                                   "the mean of inputs, element by element"},
                                  {"maximum",
                                   {"Maximum"},
                                   "name of the layer; default: maximum, maximum_1, ...",
                                   "the largest of inputs, element by element"},
                                  {"minimum",
                                   {"Minimum"},
                                   "name of the layer; default: minimum, minimum_1, ...",
                                   "the smallest of inputs, element by element"}};
  return kTypes[static_cast<int>(kind)];
}

// The sum, difference, product, mean, maximum or minimum, element by element, from left to right.
// Dimensions of size 1 broadcast; an input of lower rank gets axes of size 1 after the batch.
// Subtract takes two inputs, all others two or more.
template <MergeKind kind>
struct MergeLayer {
  static constexpr std::string_view kType = MergeTypeOf(kind).type;
  static constexpr std::string_view kSummary = MergeTypeOf(kind).summary;
  static constexpr std::string_view kAliases[] = {MergeTypeOf(kind).aliases[0]};
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitName(v, *this, MergeTypeOf(kind).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& xs) const;
};
using Add = MergeLayer<MergeKind::kAdd>;
using Subtract = MergeLayer<MergeKind::kSubtract>;
using Multiply = MergeLayer<MergeKind::kMultiply>;
using Average = MergeLayer<MergeKind::kAverage>;
using MaximumLayer = MergeLayer<MergeKind::kMaximum>;
using MinimumLayer = MergeLayer<MergeKind::kMinimum>;

// Concatenates the inputs along an axis; their other dimensions must be equal.
struct Concatenate {
  static constexpr std::string_view kType = "concatenate";
  static constexpr std::string_view kSummary = "joins inputs along an axis";
  static constexpr std::string_view kAliases[] = {"Concatenate"};
  int64_t axis = -1;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = "axis along which to join, counting the batch"});
    VisitName(v, *this, "name of the layer; default: concatenate, concatenate_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& xs) const;
};

// Sums the products of x and y along one axis of each: [batch, other axes of x, other axes of y],
// or [batch, 1] for two vectors. `normalize` first scales the vectors along that axis to length 1.
struct Dot {
  static constexpr std::string_view kType = "dot";
  static constexpr std::string_view kSummary =
      "sums the products of two inputs over one axis of each";
  static constexpr std::string_view kAliases[] = {"Dot"};
  static constexpr std::string_view kArguments[] = {"x", "y"};
  std::variant<int64_t, std::vector<int64_t>> axes = int64_t{1};
  bool normalize = false;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axes", axes,
      {.help = "axis to sum over: one for both inputs, or one per input", .required = true});
    v("normalize", normalize, {.help = "divide each vector by its length"});
    VisitName(v, *this, "name of the layer; default: dot, dot_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& xs) const;
};

// tfrs.layers.feature_interaction.DotInteraction: the dot products of every two of its k inputs,
// vectors [batch, n]: input 1 with 0, 2 with 0 and 1, ...; [batch, k (k - 1) / 2]. With
// `self_interaction` each row ends with the products of an input with itself. With `skip_gather`
// the result is the whole k x k matrix, with zeros above these products.
struct DotInteraction {
  static constexpr std::string_view kType = "dot_interaction";
  static constexpr std::string_view kSummary = "dot products of every pair of its input vectors";
  static constexpr std::string_view kAliases[] = {"DotInteraction"};
  bool self_interaction = false;
  bool skip_gather = false;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("self_interaction", self_interaction,
      {.help = "include the product of each vector with itself"});
    v("skip_gather", skip_gather,
      {.help = "return the whole matrix of products, with zeros in place of repeated ones"});
    VisitName(v, *this, "name of the layer; default: dot_interaction, dot_interaction_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& xs) const;
};

}  // namespace tpuest::nn
