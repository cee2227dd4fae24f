#pragma once
// Layers that rearrange elements: flatten, reshape, transpose, permute, reverse and repeat_vector.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Merges all axes except the batch: [batch, ...] -> [batch, product of the others].
struct Flatten {
  static constexpr std::string_view kType = "flatten";
  static constexpr std::string_view kSummary = "joins all axes but the batch into one";
  static constexpr std::string_view kAliases[] = {"Flatten"};
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitName(v, *this, "name of the layer; default: flatten, flatten_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Gives each example another shape: [batch, ...] -> [batch] + target_shape; tf.reshape calls it
// shape. One dimension may be -1 and is inferred from the others.
struct Reshape {
  static constexpr std::string_view kType = "reshape";
  static constexpr std::string_view kSummary = "the same values in another shape";
  static constexpr std::string_view kAliases[] = {"Reshape"};
  std::optional<std::vector<int64_t>> target_shape;
  std::vector<int64_t> shape;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("target_shape", target_shape,
      {.help = "shape of an example, without the batch; one dimension may be -1"});
    v("shape", shape, {.help = "another name of target_shape", .tpuest = true});
    VisitName(v, *this, "name of the layer; default: reshape, reshape_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// tf.transpose, including the batch: axis i is axis perm[i] of the input. For a model whose inputs
// have the batch on another axis (TPUEstimator's batch_axis).
struct Transpose {
  static constexpr std::string_view kType = "transpose";
  static constexpr std::string_view kSummary = "reorders the axes, including the batch";
  std::vector<int64_t> perm;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("perm", perm,
      {.help = "the input axis for each axis of the result, counting the batch; [3, 0, 1, 2] turns "
               "images of batch_axis 3 into NHWC",
       .required = true,
       .tpuest = true});
    VisitName(v, *this, "name of the layer; default: transpose, transpose_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Reorders an example's axes: axis i is axis dims[i] of the input, counted from 1 and without the
// batch.
struct Permute {
  static constexpr std::string_view kType = "permute";
  static constexpr std::string_view kSummary = "reorders the axes after the batch";
  static constexpr std::string_view kAliases[] = {"Permute"};
  std::vector<int64_t> dims;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("dims", dims,
      {.help = "the input axis for each axis of an example; the first is 1", .required = true});
    VisitName(v, *this, "name of the layer; default: permute, permute_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Reverses the elements along an axis: x[..., ::-1], RGB to BGR.
struct Reverse {
  static constexpr std::string_view kType = "reverse";
  static constexpr std::string_view kSummary = "reverses the values along axes";
  static constexpr std::string_view kAliases[] = {"Reverse"};
  int64_t axis = -1;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis,
      {.help = "axis to reverse, counting the batch; the batch axis itself is not allowed",
       .tpuest = true});
    VisitName(v, *this, "name of the layer; default: reverse, reverse_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Repeats each example: [batch, n] -> [batch, times, n].
struct RepeatVector {
  static constexpr std::string_view kType = "repeat_vector";
  static constexpr std::string_view kSummary = "repeats each row n times, as steps of a sequence";
  static constexpr std::string_view kAliases[] = {"RepeatVector"};
  int64_t n = 1;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("n", n, {.help = "number of repetitions", .required = true});
    VisitName(v, *this, "name of the layer; default: repeat_vector, repeat_vector_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
