#include "models/mnist_cnn.h"

#include "core/nn/layers/layers.h"

namespace tpuest::models {
namespace {

constexpr int64_t kSide = 28;
constexpr int64_t kClasses = 10;

void CheckImage(const Shape& shape) {
  const bool fits = shape.known_rank() && (shape == Shape{shape.dim(0), kSide * kSide} ||
                                           shape == Shape{shape.dim(0), kSide, kSide} ||
                                           shape == Shape{shape.dim(0), kSide, kSide, 1});
  if (!fits) {
    throw Error(Code::kUsage, fmt::format("mnist_cnn takes images [batch, 784], [batch, 28, 28] or "
                                          "[batch, 28, 28, 1], got {}",
                                          shape.Text()));
  }
}

std::vector<nn::Layer> LayersOf(const MnistCnn& model) {
  return {nn::Reshape{.shape = {kSide, kSide, 1}},
          nn::Conv2D{.filters = 32, .kernel_size = 5, .padding = "same", .activation = "relu"},
          nn::MaxPooling2D{.pool_size = 2, .strides = 2},
          nn::Conv2D{.filters = 64, .kernel_size = 5, .padding = "same", .activation = "relu"},
          nn::MaxPooling2D{.pool_size = 2, .strides = 2},
          nn::Flatten{},
          nn::Dense{.units = 128, .activation = "relu"},
          nn::Dropout{.rate = model.dropout_rate, .place = model.place},
          nn::Dense{.units = kClasses}};
}

}  // namespace

nn::AnyHead MnistCnn::Head() const { return nn::MultiClassHead{.n_classes = kClasses}; }

TPUEstimatorSpec MnistCnn::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                 const Params& params, const JobContext& job) const {
  nn::LayerContext context = MakeLayerContext(graph, mode, params, precision);
  Value x = OnlyFeature(inputs, std::string(kType), {}, context.compute_dtype);
  CheckImage(x.shape());
  for (const nn::Layer& layer : LayersOf(*this)) x = nn::Apply(layer, context, x);
  const nn::AnyHead head = Head();
  return BuildSpec({.head = head,
                    .logits = x,
                    .inputs = inputs,
                    .mode = mode,
                    .params = params,
                    .layers = context,
                    .job = job,
                    .optimizers = PartsOf(optimizer)});
}

}  // namespace tpuest::models
