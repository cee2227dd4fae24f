#pragma once
// Every layer that a job can name.

#include <variant>

#include "core/nn/layers/batch_normalization.h"
#include "core/nn/layers/conv_layers.h"
#include "core/nn/layers/dense_layer.h"
#include "core/nn/layers/pooling_layers.h"
#include "core/nn/layers/shape_layers.h"

namespace tpuest::nn {

using Layer =
    std::variant<Dense, Conv2D, DepthwiseConv2D, SeparableConv2D, MaxPooling2D, AveragePooling2D,
                 GlobalAveragePooling2D, GlobalMaxPooling2D, BatchNormalization, Dropout, Flatten,
                 Reshape, Transpose, ActivationLayer>;

// The layer's result on x, in the context's compute dtype. Errors carry the layer's place; a layer
// throws Error kUsage for arguments and inputs that do not fit.
[[nodiscard]] Value Apply(const Layer& layer, LayerContext& context, Value x);

}  // namespace tpuest::nn
