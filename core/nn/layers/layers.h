#pragma once
// Every layer that a job can name.

#include <variant>
#include <vector>

#include "core/base/one_of.h"
#include "core/nn/layers/activation_layers.h"
#include "core/nn/layers/batch_normalization.h"
#include "core/nn/layers/category_layers.h"
#include "core/nn/layers/conv_layers.h"
#include "core/nn/layers/dense_layer.h"
#include "core/nn/layers/embedding_layer.h"
#include "core/nn/layers/image_layers.h"
#include "core/nn/layers/lambda_layer.h"
#include "core/nn/layers/merge_layers.h"
#include "core/nn/layers/noise_layers.h"
#include "core/nn/layers/normalization_layers.h"
#include "core/nn/layers/padding_layers.h"
#include "core/nn/layers/pooling_layers.h"
#include "core/nn/layers/shape_layers.h"

namespace tpuest::nn {

struct SharedLayer;
struct NestedModel;

using LayerTypes = std::variant<
    Dense, Conv2D, DepthwiseConv2D, SeparableConv2D, MaxPooling2D, AveragePooling2D,
    GlobalAveragePooling2D, GlobalMaxPooling2D, BatchNormalization, Dropout, Flatten, Reshape,
    Transpose, ActivationLayer, Conv1D, SeparableConv1D, MaxPooling1D, AveragePooling1D,
    GlobalAveragePooling1D, GlobalMaxPooling1D, GlobalAveragePooling3D, GlobalMaxPooling3D,
    LayerNormalization, GroupNormalization, UnitNormalization, Normalization, Rescaling, ReLU,
    LeakyReLU, ELU, PReLU, SoftmaxLayer, ThresholdedReLU, Add, Subtract, Multiply, Average,
    MaximumLayer, MinimumLayer, Concatenate, Dot, DotInteraction, ZeroPadding1D, ZeroPadding2D,
    ZeroPadding3D, Cropping1D, Cropping2D, Cropping3D, UpSampling1D, UpSampling2D, UpSampling3D,
    RepeatVector, Permute, Reverse, Embedding, SpatialDropout1D, SpatialDropout2D, SpatialDropout3D,
    GaussianNoise, GaussianDropout, AlphaDropout, ActivityRegularization, DepthwiseConv1D, Conv3D,
    MaxPooling3D, AveragePooling3D, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose, Resizing,
    CenterCrop, RandomCrop, RandomFlip, RandomRotation, RandomTranslation, RandomZoom,
    RandomContrast, RandomBrightness, Lambda, LayerScale, StochasticDepth, StringLookup,
    IntegerLookup, Hashing, Discretization, CategoryEncoding, HashedCrossing, SharedLayer,
    NestedModel>;
using Layer = OneOf<LayerTypes>;

// Applies an earlier layer again, with the same variables.
struct SharedLayer {
  std::string layer;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("layer", layer, {.help = "name of the earlier layer to apply again", .required = true});
    VisitName(v, *this, "name of this call's result, for later layers");
  }
};

// A model used as a layer. Inside, a single input is called `input`; several are `input_0`,
// `input_1`, ..., or have the names by which `inputs` gives them. A first layer without `inputs`
// takes the only input. Its layers have their own names and do not see layers outside. If it has
// several outputs, each is called "<name>:<output>" outside.
struct NestedModel {
  static constexpr std::string_view kType = "functional";
  static constexpr std::string_view kSummary = "a model inside a model, with its own layers";
  static constexpr std::string_view kAliases[] = {"Functional", "sequential", "Sequential"};
  std::vector<Layer> layers;
  std::vector<std::string> outputs;
  std::string weights;
  std::vector<int64_t> input_shape;
  bool trainable = true;
  bool training = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("layers", layers, {.help = "layers from its inputs to its outputs", .required = true});
    v("outputs", outputs, {.help = "names of output layers; [] is the last one"});
    v("weights", weights,
      {.help = "Keras file with the initial weights: .h5, .keras or .weights.h5",
       .input_path = true});
    v("input_shape", input_shape,
      {.help = "required shape of an example; -1 allows any size of an axis; [] allows any shape"});
    v("trainable", trainable,
      {.help = "`false` freezes its variables and runs it in inference mode"});
    v("training", training,
      {.help = "`false` always runs in inference mode, as Keras' training=False does"});
    VisitName(v, *this, "name of the layer; default: functional, functional_1, ...");
  }
};

// Returns the result of a layer with its own variables on its inputs, in the context's compute
// dtype. Throws Error kUsage, at the layer's place, for arguments and inputs that do not fit, and
// always for a SharedLayer and a NestedModel, which network.h applies.
[[nodiscard]] Value Apply(const Layer& layer, LayerContext& context, std::vector<Value> inputs);
[[nodiscard]] inline Value Apply(const Layer& layer, LayerContext& context, Value x) {
  return Apply(layer, context, std::vector<Value>{x});
}

}  // namespace tpuest::nn

namespace tpuest {
extern template class OneOf<nn::LayerTypes>;
}  // namespace tpuest
