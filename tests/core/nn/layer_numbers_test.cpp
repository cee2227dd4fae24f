// Layers on small inputs; the numbers are TensorFlow 2.15's.

#include <doctest/doctest.h>

#include "core/graph/gradient.h"
#include "core/nn/layers/layers.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

struct Input {
  Shape shape;
  std::vector<float> values;
};

// 0, 1, 2, ... in this shape.
Input Counted(const Shape& shape, float first = 0) {
  Input input{shape, std::vector<float>(static_cast<size_t>(shape.elements()))};
  for (size_t i = 0; i < input.values.size(); ++i) {
    input.values[i] = first + static_cast<float>(i);
  }
  return input;
}

struct Applied {
  Shape shape;
  std::vector<float> values;
};

// The results of a layer for inputs; variables with an entry in `weights` have these numbers.
Applied Run(const Layer& layer, const std::vector<Input>& inputs,
            const std::map<std::string, std::vector<float>>& weights = {}) {
  Session session;
  LayerContext context{.graph = session.graph()};
  std::vector<Value> values;
  for (const Input& input : inputs) values.push_back(session.Const(input.shape, input.values));
  const Value y = Apply(layer, context, values);
  session.Initialize();
  for (const auto& [name, numbers] : weights) {
    const Variable* const variable = session.graph().FindVariable(name);
    REQUIRE(variable != nullptr);
    session.variables().Set(name, Tensor::Of<float>(variable->shape, numbers));
  }
  return {y.shape(), session.Floats(y)};
}

const Input kRow{{1, 4}, {-3, -1, 0.5F, 7}};
const Input kTwoSteps{{1, 2, 4}, {1, 2, 4, 8, -1, 0, 3, 5}};
const Input kA{{1, 3}, {1, 2, 3}};
const Input kB{{1, 3}, {4, -5, 6}};
const Input kC{{1, 3}, {0, 1, 9}};
const Input kSignal{{1, 4, 2}, {1, -2, 3, 0.5F, 2, 1, -1, 4}};

// begin/10, (begin + 1)/10, ...
std::vector<float> Tenths(int begin, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(begin + i) * 0.1F);
  return values;
}

TEST_CASE("layers that activate") {
  CHECK(
      Near(Run(ReLU{.max_value = 6, .negative_slope = 0.1}, {kRow}).values, {-0.3, -0.1, 0.5, 6}));
  CHECK(Near(Run(ReLU{.max_value = 6, .negative_slope = 0.25, .threshold = 0.75}, {kRow}).values,
             {-0.9375, -0.4375, -0.0625, 6}));
  CHECK(Near(Run(ReLU{.max_value = 6}, {kRow}).values, {0, 0, 0.5, 6}));
  CHECK(Near(Run(LeakyReLU{}, {kRow}).values, {-0.9, -0.3, 0.5, 7}));
  CHECK(Near(Run(ELU{.alpha = 0.5}, {kRow}).values, {-0.4751065, -0.3160603, 0.5, 7}));
  CHECK(Near(Run(ThresholdedReLU{.theta = 0.6}, {kRow}).values, {0, 0, 0, 7}));
  CHECK(Near(Run(PReLU{.alpha_initializer = ConstantInitializer{0.2}}, {kRow}).values,
             {-0.6, -0.2, 0.5, 7}));
  const Input halves{{1, 4, 2}, {0, 0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F}};
  CHECK(Near(
      Run(SoftmaxLayer{.axis = 1}, {halves}).values,
      {0.0320586, 0.0320586, 0.08714432, 0.08714432, 0.2368828, 0.2368828, 0.6439142, 0.6439142}));
}

TEST_CASE("a softmax is over one axis or several") {
  const Input quarters{{1, 2, 4}, {0, 0.25F, 0.5F, 0.75F, 1, 1.25F, 1.5F, 1.75F}};
  const Applied both = Run(SoftmaxLayer{.axis = std::vector<int64_t>{1, -1}}, {quarters});
  CHECK(Near(both.values, {0.044455, 0.05708135, 0.0732939, 0.09411123, 0.1208412, 0.1551632,
                           0.1992335, 0.2558208}));
  CHECK_THROWS_WITH_AS((void)Run(SoftmaxLayer{.axis = std::vector<int64_t>{2, -1}}, {quarters}),
                       "softmax 'softmax': an axis is repeated", Error);
}

TEST_CASE("layers take the names that Keras 3 and tf.reshape have for their arguments") {
  CHECK(Near(Run(LeakyReLU{.negative_slope = 0.1}, {{{1, 2}, {-2, 3}}}).values, {-0.2, 3}));
  CHECK(Run(Reshape{.target_shape = std::vector<int64_t>{-1, 2}}, {kRow}).shape == Shape{1, 2, 2});
  CHECK(Run(Reshape{.shape = {2, 2}}, {kRow}).shape == Shape{1, 2, 2});
  CHECK_THROWS_WITH_AS((void)Run(Reshape{}, {kRow}), "reshape 'reshape': has no target_shape",
                       Error);
}

TEST_CASE("Keras's additional activations compute Keras's values") {
  const auto at = [](const char* name) {
    return Run(ActivationLayer{.activation = name}, {kRow}).values;
  };
  CHECK(Near(at("hard_sigmoid"), {0, 0.3, 0.6, 1}));
  CHECK(Near(at("exponential"), {0.04978707, 0.3678795, 1.648721, 1096.633}));
  CHECK(Near(at("mish"), {-0.1456475, -0.3034014, 0.3752452, 6.999989}));
  CHECK(at("silu") == at("swish"));
}

TEST_CASE("layers that normalize") {
  CHECK(Near(
      Run(LayerNormalization{}, {kTwoSteps}).values,
      {-1.025684, -0.6527079, 0.09324399, 1.585148, -1.153012, -0.7337348, 0.5240964, 1.362651}));
  CHECK(Near(
      Run(LayerNormalization{.axis = std::vector<int64_t>{1, 2}}, {kTwoSteps}).values,
      {-0.6416458, -0.2749911, 0.4583184, 1.924937, -1.374955, -1.008301, 0.09166369, 0.8249732}));
  CHECK(Near(Run(GroupNormalization{.groups = 2}, {kTwoSteps}).values,
             {0.4470348, 1.341104, -0.5344462, 1.603338, -1.341104, -0.4470348, -1.068892, 0}));
  CHECK(Near(Run(GroupNormalization{.groups = -1}, {kTwoSteps}).values,
             {0.9995004, 0.9995004, 0.9980059, 0.9997778, -0.9995004, -0.9995004, -0.9980063,
              -0.9997778}));
  CHECK(Near(Run(UnitNormalization{}, {kTwoSteps}).values,
             {0.1084652, 0.2169305, 0.4338609, 0.8677219, -0.1690308, 0, 0.5070925, 0.8451542}));
  const std::vector<double> means = {1, 2, 3, 4};
  CHECK(Near(
      Run(Normalization{.mean = means, .variance = std::vector<double>{4, 1, 0, 9}}, {kTwoSteps})
          .values,
      {0, 0, 1e7, 1.333333, -1, -2, 0, 0.3333333}));
  CHECK(Near(Run(Normalization{.mean = 1.0, .variance = 4.0, .invert = true}, {kTwoSteps}).values,
             {3, 5, 9, 17, -1, 1, 7, 11}));
  CHECK(Near(Run(Rescaling{.scale = means, .offset = 0.5}, {kTwoSteps}).values,
             {1.5, 4.5, 12.5, 32.5, -0.5, 0.5, 9.5, 20.5}));
}

TEST_CASE("statistics are computed along the given axis") {
  const Input quarters{{1, 2, 4}, {0, 0.25F, 0.5F, 0.75F, 1, 1.25F, 1.5F, 1.75F}};
  const Normalization steps{.axis = int64_t{1},
                            .mean = std::vector<double>{1, 2},
                            .variance = std::vector<double>{4, 0.25}};
  CHECK(Near(Run(steps, {quarters}).values, {-0.5, -0.375, -0.25, -0.125, -2, -1.5, -1, -0.5}));
  const Normalization all{.axis = std::nullopt, .mean = 1.0, .variance = 4.0};
  CHECK(Near(Run(all, {quarters}).values, {-0.5, -0.375, -0.25, -0.125, 0, 0.125, 0.25, 0.375}));
  const Normalization kept{.axis = std::vector<int64_t>{1, 2}};
  CHECK(Near(Run(kept, {quarters},
                 {{"normalization/mean", {0, 0, 0, 0, 1, 1, 1, 1}},
                  {"normalization/variance", std::vector<float>(8, 4)}})
                 .values,
             {0, 0.125, 0.25, 0.375, 0, 0.125, 0.25, 0.375}));
  const Input groups{{1, 4, 4}, {5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  CHECK(Near(
      Run(GroupNormalization{.groups = 2, .axis = 1}, {groups}).values,
      {0.4605024, -1.644651, -1.118363, -0.5920746, -0.06578612, 0.4605024, 0.9867907, 1.513079,
       -1.52738, -1.090986, -0.6545916, -0.2181973, 0.2181969, 0.6545911, 1.090985, 1.52738},
      2e-6));
}

TEST_CASE("a normalization without numbers keeps them in variables that are not trained") {
  Session session;
  LayerContext context{.graph = session.graph()};
  (void)Apply(Normalization{}, context, session.Const({1, 2}, {1, 2}));
  const Graph& graph = session.graph();
  CHECK(graph.FindVariable("normalization/count")->dtype == DType::kInt64);
  CHECK_FALSE(graph.FindVariable("normalization/mean")->trainable);
  CHECK(graph.FindVariable("normalization/variance")->shape == Shape{2});
}

TEST_CASE("layers that make one of several") {
  const std::vector<Input> three = {kA, kB, kC};
  CHECK(Run(Add{}, three).values == std::vector<float>{5, -2, 18});
  CHECK(Run(Multiply{}, three).values == std::vector<float>{0, -10, 162});
  CHECK(Near(Run(Average{}, three).values, {1.666667, -0.6666667, 6}));
  CHECK(Run(MaximumLayer{}, three).values == std::vector<float>{4, 2, 9});
  CHECK(Run(MinimumLayer{}, three).values == std::vector<float>{0, -5, 3});
  CHECK(Run(Subtract{}, {kA, kB}).values == std::vector<float>{-3, 7, -3});
  CHECK(Run(Concatenate{}, three).shape == Shape{1, 9});
  CHECK(Near(Run(Dot{}, {kA, kB}).values, {12}));
  CHECK(Near(Run(Dot{.normalize = true}, {kA, kB}).values, {0.3654869}));
  CHECK(Run(Dot{.axes = std::vector<int64_t>{2, 1}}, {Counted({1, 2, 3}), Counted({1, 3, 4})})
            .values == std::vector<float>{20, 23, 26, 29, 56, 68, 80, 92});
  // a b, a c and b c; including each with itself: a a, a b, b b, ...; the whole table.
  CHECK(Run(DotInteraction{}, three).values == std::vector<float>{12, 29, 49});
  CHECK(Run(DotInteraction{.self_interaction = true}, three).values ==
        std::vector<float>{14, 12, 77, 29, 49, 82});
  CHECK(Run(DotInteraction{.skip_gather = true}, three).values ==
        std::vector<float>{0, 0, 0, 12, 0, 0, 29, 49, 0});
  // An input with fewer axes is broadcast after the batch axis.
  const Input ones{{1, 2, 2, 3}, std::vector<float>(12, 1)};
  CHECK(Run(Add{}, {ones, kA}).values == std::vector<float>{2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4});
}

TEST_CASE("layers that add, take away and repeat rows and columns") {
  using Pairs = std::vector<std::vector<int64_t>>;
  const Input image = Counted({1, 2, 2, 2}, 1);
  const Input rows = Counted({1, 2, 3});
  CHECK(Run(ZeroPadding2D{.padding = Pairs{{1, 0}, {0, 1}}}, {image}).values ==
        std::vector<float>{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0});
  CHECK(Run(Cropping2D{.cropping = Pairs{{1, 0}, {0, 1}}}, {image}).values ==
        std::vector<float>{5, 6});
  CHECK(Run(UpSampling2D{.size = std::vector<int64_t>{2, 1}}, {image}).values ==
        std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8});
  CHECK(Run(UpSampling1D{}, {rows}).values ==
        std::vector<float>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(Run(ZeroPadding1D{.padding = std::vector<int64_t>{1, 0}}, {rows}).values ==
        std::vector<float>{0, 0, 0, 0, 1, 2, 3, 4, 5});
  CHECK(Run(Cropping1D{.cropping = std::vector<int64_t>{1, 0}}, {rows}).values ==
        std::vector<float>{3, 4, 5});
  CHECK(Run(ZeroPadding3D{}, {Counted({1, 1, 1, 1, 2})}).shape == Shape{1, 3, 3, 3, 2});
  CHECK(Run(Cropping3D{}, {Counted({1, 3, 3, 4, 1})}).values == std::vector<float>{17, 18});
  CHECK(Run(UpSampling3D{}, {Counted({1, 1, 1, 2, 1})}).values ==
        std::vector<float>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1});
}

TEST_CASE("images are enlarged by the kernels of tf.image.resize") {
  const Input image{{1, 2, 2, 1}, {1, 2, 4, 8}};
  const auto enlarged = [&](const char* interpolation) {
    return Run(UpSampling2D{.interpolation = interpolation}, {image}).values;
  };
  CHECK(Near(enlarged("lanczos3"),
             {0.3904662, 0.5838464, 0.8368535, 1.030234, 1.400543, 2.094169, 3.001667, 3.695293,
              2.722068, 4.070184, 5.833979, 7.182096, 3.732144, 5.580506, 7.998793, 9.847154}));
  CHECK(Near(enlarged("lanczos5"),
             {0.2632936, 0.4202463, 0.5933465, 0.7502993, 1.349334, 2.153689, 3.040797, 3.845152,
              2.547107, 4.06547, 5.740044, 7.258408, 3.633147, 5.798913, 8.187495, 10.35326}));
  CHECK(Near(enlarged("gaussian"),
             {1.196451, 1.449483, 1.977349, 2.230382, 1.892514, 2.292754, 3.127718, 3.527958,
              3.344615, 4.051952, 5.527574, 6.234912, 4.040679, 4.895224, 6.677943, 7.532489}));
  CHECK(Near(enlarged("mitchellcubic"),
             {0.8792933, 1.131119, 1.590849, 1.842675, 1.686215, 2.169139, 3.050761, 3.533685,
              3.159323, 4.064139, 5.715962, 6.620778, 3.966245, 5.10216, 7.175874, 8.311789}));
}

TEST_CASE("layers that move elements, and look them up") {
  const Input rows = Counted({1, 2, 3});
  CHECK(Run(Permute{.dims = {2, 1}}, {rows}).values == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(Run(RepeatVector{.n = 2}, {kA}).values == std::vector<float>{1, 2, 3, 1, 2, 3});
  CHECK(Run(Embedding{.input_dim = 4, .output_dim = 2}, {{{1, 2}, {2, 0}}},
            {{"embedding/embeddings", {0, 1, 2, 3, 4, 5, 6, 7}}})
            .values == std::vector<float>{4, 5, 0, 1});
}

TEST_CASE("convolutions and pooling over steps") {
  const Input& r = kSignal;
  const std::map<std::string, std::vector<float>> kernel = {{"conv1d/kernel", Tenths(1, 12)}};
  const Conv1D conv{.filters = 2, .kernel_size = 3, .padding = "same"};
  CHECK(Near(Run(conv, {r}, kernel).values, {2.35, 2.6, 4.25, 4.8, 5.65, 6.6, 2.8, 3.4}));
  Conv1D causal = conv;
  causal.padding = "causal";
  CHECK(Near(Run(causal, {r}, kernel).values, {-1.3, -1.4, 2.35, 2.6, 4.25, 4.8, 5.65, 6.6}));
  Conv1D strided = conv;
  strided.strides = 2;
  CHECK(Near(Run(strided, {r}, kernel).values, {4.25, 4.8, 2.8, 3.4}));
  CHECK(Near(Run(Conv1D{.filters = 2, .kernel_size = 2, .dilation_rate = 2}, {r},
                 {{"conv1d/kernel", Tenths(1, 8)}})
                 .values,
             {1.2, 1.4, 2.75, 3.4}));
  CHECK(Near(Run(SeparableConv1D{.filters = 2, .kernel_size = 3, .padding = "same"}, {r},
                 {{"separable_conv1d/depthwise_kernel", Tenths(1, 6)},
                  {"separable_conv1d/pointwise_kernel", {1, 2, 3, 4}}})
                 .values,
             {0.3, 1.6, 3.2, 5.6, 9.1, 12.4, 5.3, 7}));
  CHECK(Run(MaxPooling1D{}, {r}).values == std::vector<float>{3, 0.5F, 2, 4});
  CHECK(Near(Run(AveragePooling1D{.pool_size = 3, .strides = 1, .padding = "same"}, {r}).values,
             {2, -0.75, 2, -0.1666667, 1.333333, 1.833333, 0.5, 2.5}));
  const Input rows = Counted({1, 2, 3});
  CHECK(Run(GlobalMaxPooling1D{}, {rows}).values == std::vector<float>{3, 4, 5});
  CHECK(Run(GlobalAveragePooling1D{.keepdims = true}, {rows}).shape == Shape{1, 1, 3});
}

TEST_CASE("transposed convolutions") {
  const Input image = Counted({1, 2, 2, 2}, 1);
  const std::map<std::string, std::vector<float>> four = {
      {"conv2d_transpose/kernel", Tenths(1, 8)}};
  CHECK(
      Near(Run(Conv2DTranspose{.filters = 1, .kernel_size = 2, .strides = 2}, {image}, four).values,
           {0.5, 1.1, 1.1, 2.5, 1.7, 2.3, 3.9, 5.3, 1.7, 3.9, 2.3, 5.3, 6.1, 8.3, 8.3, 11.3}));
  const std::map<std::string, std::vector<float>> nine = {
      {"conv2d_transpose/kernel", Tenths(1, 18)}};
  Conv2DTranspose same{.filters = 1, .kernel_size = 3, .strides = 2, .padding = "same"};
  CHECK(Near(Run(same, {image}, nine).values,
             {0.5, 1.1, 2.8, 2.5, 2.3, 2.9, 8.8, 6.7, 5.8, 8.6, 23.2, 16.2, 8.3, 10.5, 24, 14.3}));
  same.output_padding = int64_t{0};
  const Applied odd = Run(same, {image}, nine);
  CHECK(odd.shape == Shape{1, 3, 3, 1});
  CHECK(Near(odd.values, {2.9, 8.8, 6.7, 8.6, 23.2, 16.2, 10.5, 24, 14.3}));
  const Conv2DTranspose wide{.filters = 2,
                             .kernel_size = std::vector<int64_t>{1, 2},
                             .strides = std::vector<int64_t>{1, 2},
                             .output_padding = std::vector<int64_t>{0, 1}};
  CHECK(Near(Run(wide, {image},
                 {{"conv2d_transpose/kernel", Tenths(1, 8)}, {"conv2d_transpose/bias", {1, 2}}})
                 .values,
             {1.5, 3.1, 2.7, 4.3,  2.1, 4.5, 4.9, 7.3,  1, 2,
              2.7, 5.9, 7.1, 10.3, 3.3, 7.3, 9.3, 13.3, 1, 2}));
  CHECK(Near(Run(Conv1DTranspose{.filters = 1, .kernel_size = 3, .strides = 2, .padding = "same"},
                 {kSignal}, {{"conv1d_transpose/kernel", Tenths(1, 6)}})
                 .values,
             {-0.3, -0.5, -0.3, 1.1, 2.2, 1, 2.3, 1.3}));
  CHECK(Near(Run(Conv1DTranspose{.filters = 2, .kernel_size = 2}, {kSignal},
                 {{"conv1d_transpose/kernel", Tenths(1, 8)}})
                 .values,
             {-0.3, -0.5, -0.3, 0.2, 2.2, 3.5, 2.3, 3.5, 1.9, 2.5}));
}

TEST_CASE("transposed convolutions with holes in their kernels") {
  Input image = Counted({1, 3, 3, 1}, 1);
  for (float& pixel : image.values) pixel /= 4;
  const std::vector<float> kernel = {-3, -2, -1, 0, 1, 2, 3, 4};
  const auto of = [&](const std::string& padding) {
    return Run(
        Conv2DTranspose{.filters = 2, .kernel_size = 2, .padding = padding, .dilation_rate = 2},
        {image}, {{"conv2d_transpose/kernel", kernel}, {"conv2d_transpose/bias", {0.5, -1}}});
  };
  const Applied same = of("same");
  CHECK(same.shape == Shape{1, 3, 3, 2});
  CHECK(same.values == std::vector<float>{-3.25, -3.5, -5, -4, -0.75, -1, -5, -4, -6.5, -3, 0, 1,
                                          1.75, 1.5, 5, 6, 4.25, 4});
  const Applied valid = of("valid");
  CHECK(valid.shape == Shape{1, 5, 5, 2});
  CHECK(std::vector<float>(valid.values.begin(), valid.values.begin() + 12) ==
        std::vector<float>{-0.25, -1.5, -1, -2, -2, -2.5, 0, -1, -0.25, -1, -2.5, -3});
  const Applied steps =
      Run(Conv1DTranspose{.filters = 2, .kernel_size = 2, .padding = "same", .dilation_rate = 3},
          {{{1, 9, 1}, image.values}},
          {{"conv1d_transpose/kernel", {-3, -2, -1, 0}}, {"conv1d_transpose/bias", {0.5, -1}}});
  CHECK(steps.values == std::vector<float>{-1, -2, -1.75, -2.5, -2.75, -3, -3.75, -3.5, -4.75, -4,
                                           -5.75, -4.5, -6.75, -5, -7.75, -5.5, -1.25, -1});
}

TEST_CASE("each channel has a factor that is learned") {
  CHECK(Run(LayerScale{.init_values = 0.5}, {kA}).values == std::vector<float>{0.5, 1, 1.5});
  CHECK(Run(LayerScale{}, {kTwoSteps}, {{"layer_scale/gamma", {1, -2, 0, 3}}}).values ==
        std::vector<float>{1, -4, 0, 24, -1, 0, 0, 15});
}

TEST_CASE("transposed convolutions over volumes") {
  const auto of = [](const Conv3DTranspose& layer, const Shape& shape, int numbers) {
    return Run(layer, {Counted(shape)}, {{"conv3d_transpose/kernel", Tenths(1, numbers)}});
  };
  const auto sizes = [](int64_t a, int64_t b, int64_t c) { return std::vector<int64_t>{a, b, c}; };
  const Applied valid = of({.filters = 1, .kernel_size = 2, .strides = 2}, {1, 1, 2, 1, 2}, 16);
  CHECK(valid.shape == Shape{1, 2, 4, 2, 1});
  CHECK(Near(valid.values,
             {0.2, 0.4, 0.6, 0.8, 0.8, 1.8, 2.8, 3.8, 1, 1.2, 1.4, 1.6, 4.8, 5.8, 6.8, 7.8}));
  CHECK(Near(of({.filters = 1,
                 .kernel_size = sizes(2, 3, 2),
                 .strides = sizes(2, 1, 2),
                 .padding = "same"},
                {1, 2, 2, 1, 1}, 12)
                 .values,
             {0.1, 0.2, 0.3, 0.4, 0.7, 0.8, 0.9, 1, 0.9, 1.4, 1.9, 2.4, 3.9, 4.4, 4.9, 5.4}));
  CHECK(Near(of({.filters = 1, .kernel_size = sizes(3, 1, 2), .strides = sizes(1, 2, 1)},
                {1, 2, 2, 1, 1}, 6)
                 .values,
             {0,   0,   0, 0, 0.1, 0.2, 0, 0, 0.2, 0.4, 0, 0, 0.6, 1,   0, 0,
              0.6, 0.8, 0, 0, 1.4, 1.8, 0, 0, 1,   1.2, 0, 0, 1.5, 1.8, 0, 0}));
  const Applied odd = of({.filters = 1,
                          .kernel_size = sizes(3, 3, 1),
                          .strides = sizes(2, 2, 1),
                          .padding = "same",
                          .output_padding = sizes(1, 0, 0)},
                         {1, 2, 2, 1, 1}, 9);
  CHECK(odd.shape == Shape{1, 4, 3, 1, 1});
  CHECK(Near(odd.values, {0, 0.1, 0.2, 0, 0.4, 0.5, 0.4, 1.6, 1.4, 1, 2.4, 1.5}));
}

TEST_CASE("a transposed convolution takes batches of any size") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.graph().Placeholder(DType::kFloat, {kUnknownDim, 4, 4, 2}, "x");
  const Value y = Conv2DTranspose{.filters = 3, .kernel_size = 3, .strides = 2}.Apply(context, x);
  CHECK(y.shape().Text() == "[?,9,9,3]");
}

TEST_CASE("depthwise convolutions over steps") {
  CHECK(Near(
      Run(DepthwiseConv1D{.kernel_size = 3, .padding = "same", .depth_multiplier = 2}, {kSignal},
          {{"depthwise_conv1d/depthwise_kernel", Tenths(1, 12)},
           {"depthwise_conv1d/bias", {0, 1, 0, 2}}})
          .values,
      {3.2, 4.6, -0.85, 1, 3.4, 5, 0.85, 2.8, 0.4, 1.8, 5.25, 7.8, -0.3, 0.8, 3.1, 5.6}));
  CHECK(Near(
      Run(DepthwiseConv1D{.kernel_size = 2, .strides = 2}, {kSignal},
          {{"depthwise_conv1d/depthwise_kernel", Tenths(1, 4)}, {"depthwise_conv1d/bias", {0, 1}}})
          .values,
      {1, 0.8, -0.1, 2.8}));
}

TEST_CASE("convolutions over volumes") {
  const auto of = [](const Conv3D& layer, const Shape& shape, int numbers,
                     const std::vector<float>& bias = {}) {
    std::map<std::string, std::vector<float>> weights = {{"conv3d/kernel", Tenths(1, numbers)}};
    if (!bias.empty()) weights["conv3d/bias"] = bias;
    return Run(layer, {Counted(shape)}, weights);
  };
  CHECK(Near(of({.filters = 1, .kernel_size = 2}, {1, 2, 2, 3, 2}, 16).values, {192.8, 220}));
  const Applied same = of(
      {.filters = 1, .kernel_size = std::vector<int64_t>{2, 3, 2}, .strides = 2, .padding = "same"},
      {1, 3, 4, 3, 1}, 12);
  CHECK(same.shape == Shape{1, 2, 2, 2, 1});
  CHECK(Near(same.values, {100.8, 52.8, 77.4, 38.8, 60.3, 27.3, 32.7, 13.7}));
  CHECK(Near(of({.filters = 2,
                 .kernel_size = std::vector<int64_t>{3, 2, 1},
                 .strides = std::vector<int64_t>{1, 2, 3},
                 .padding = "same"},
                {1, 2, 5, 4, 1}, 12, {1, 2})
                 .values,
             {48.2, 54,   57.8, 64.8, 73.8, 82.8, 83.4, 93.6, 41.4, 47.6, 45.6, 52.4,
              29,   34.8, 33.8, 40.8, 41.8, 50.8, 46.6, 56.8, 20.6, 26.8, 22.4, 29.2}));
  CHECK(Near(of({.filters = 1, .kernel_size = 2, .dilation_rate = std::vector<int64_t>{1, 2, 1}},
                {1, 2, 4, 2, 1}, 8)
                 .values,
             {31.6, 38.8}));
  CHECK(Near(of({.filters = 1,
                 .kernel_size = 1,
                 .strides = 3,
                 .kernel_initializer = ConstantInitializer{10}},
                {1, 4, 5, 7, 1}, 1)
                 .values,
             {0, 0.3, 0.6, 2.1, 2.4, 2.7, 10.5, 10.8, 11.1, 12.6, 12.9, 13.2}));
  // Two groups compute the same as two layers.
  const Applied both = Run(Conv3D{.filters = 2, .kernel_size = 1, .groups = 2},
                           {Counted({1, 1, 1, 2, 2}, 1)}, {{"conv3d/kernel", {10, 100}}});
  CHECK(both.values == std::vector<float>{10, 200, 30, 400});
}

TEST_CASE("pooling over volumes") {
  Input x{{1, 3, 4, 3, 1}, {}};
  for (int i = 0; i < 36; ++i) x.values.push_back(static_cast<float>(i * 7 % 11));
  const auto sizes = [](int64_t a, int64_t b, int64_t c) { return std::vector<int64_t>{a, b, c}; };
  CHECK(Run(MaxPooling3D{}, {x}).values == std::vector<float>{10, 9});
  CHECK(Run(MaxPooling3D{.pool_size = sizes(2, 3, 2), .strides = sizes(1, 2, 2), .padding = "same"},
            {x})
            .values == std::vector<float>{10, 10, 9, 8, 10, 10, 8, 8, 10, 6, 8, 4});
  CHECK(Near(Run(
                 AveragePooling3D{
                     .pool_size = sizes(2, 3, 2), .strides = sizes(2, 2, 1), .padding = "same"},
                 {x})
                 .values,
             {5.083333, 4.75, 5.5, 4.5, 3.25, 4, 5.5, 7, 5, 4, 5.5, 3.5}));
}

// As in pooling over images; TensorFlow's kernel for volumes gives dy to each of them.
TEST_CASE("of equal maxima in a volume the first one gets the gradient") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.Const({1, 2, 2, 3, 1}, {1, 5, 5, 5, 0, 2,  //
                                                  5, 0, 7, 3, 5, 7});
  const Value y = MaxPooling3D{.strides = 1}.Apply(context, x);
  const Value xs[] = {x};
  const Value dx = ToDense(Gradients(y, xs, session.Const({1, 1, 1, 2, 1}, {2, 3}))[0]);
  CHECK(session.Floats(dx) == std::vector<float>{0, 2, 0, 0, 0, 0,  //
                                                 0, 0, 3, 0, 0, 0});
}

TEST_CASE("groups of channels have their own filters") {
  // The first group reads channels 1, 2, the second 3, 4; each has one filter of two numbers.
  const Input pixel{{1, 1, 1, 4}, {1, 2, 3, 4}};
  CHECK(Run(Conv2D{.filters = 2, .kernel_size = 1, .groups = 2}, {pixel},
            {{"conv2d/kernel", {10, 1000, 100, 10000}}})
            .values == std::vector<float>{210, 43000});
}

TEST_CASE("noise acts only in training, and does not change the expected value") {
  const Input ones{{1000, 10}, std::vector<float>(10000, 1)};
  const auto mean = [&](const Layer& layer, bool training) {
    Session session;
    LayerContext context{.graph = session.graph(), .training = training};
    const Value y = Apply(layer, context, session.Const(ones.shape, ones.values));
    double sum = 0;
    for (const float value : session.Floats(y)) sum += value;
    return sum / static_cast<double>(ones.values.size());
  };
  for (const Layer& layer :
       {Layer(GaussianNoise{.stddev = 0.5}), Layer(GaussianDropout{.rate = 0.3}),
        Layer(Dropout{.rate = 0.3, .noise_shape = {std::nullopt, 1}})}) {
    CHECK(mean(layer, false) == 1.0);
    CHECK(mean(layer, true) == doctest::Approx(1.0).epsilon(0.05));
    CHECK(mean(layer, true) != 1.0);
  }
  // After a selu, zero has the mean that is preserved.
  CHECK(mean(AlphaDropout{.rate = 0.3}, false) == 1.0);
}

TEST_CASE("dropout of noise_shape and of channels keeps or drops them as one") {
  const auto drop = [](const Layer& layer) {
    Session session;
    LayerContext context{.graph = session.graph(), .training = true};
    const Value x = session.Const({2, 8, 4}, std::vector<float>(64, 1));
    return session.Floats(Apply(layer, context, x));
  };
  const std::vector<float> by_example =
      drop(Dropout{.rate = 0.5, .noise_shape = {std::nullopt, 1, 1}});
  const std::vector<float> by_channel = drop(SpatialDropout1D{.rate = 0.5});
  for (size_t i = 0; i < by_example.size(); ++i) {
    CHECK(by_example[i] == by_example[i / 32 * 32]);
    CHECK(by_channel[i] == by_channel[i / 32 * 32 + i % 4]);
  }
}

TEST_CASE("an activity's penalty is over the batch's size") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.Const({2, 2}, {1, -2, 3, -4});
  CHECK(session.Floats(Apply(ActivityRegularization{.l1 = 0.1, .l2 = 0.01}, context, x)) ==
        std::vector<float>{1, -2, 3, -4});
  REQUIRE(context.regularization_losses.size() == 2);
  CHECK(Near(session.Floats(context.regularization_losses[0]), {0.5}));
  CHECK(Near(session.Floats(context.regularization_losses[1]), {0.15}));
}

TEST_CASE("inputs that do not fit a layer are refused with the layer's name") {
  const auto message = [](const Layer& layer, const std::vector<Input>& inputs) {
    try {
      (void)Run(layer, inputs);
    } catch (const Error& error) {
      CHECK(error.code() == Code::kUsage);
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  CHECK(message(Add{}, {kA}) == "add 'add': takes two or more inputs, got 1");
  CHECK(message(Subtract{}, {kA, kB, kC}) == "subtract 'subtract': takes two inputs, got 3");
  CHECK(message(Dense{.units = 1}, {kA, kB}) == "dense takes one input, got 2");
  CHECK(message(Dot{.axes = int64_t{3}}, {kA, kB}) ==
        "dot 'dot': its input [1,3] has no axis 3 besides the batch");
  CHECK(message(DotInteraction{}, {kA}) ==
        "dot_interaction 'dot_interaction': takes two or more inputs, got 1");
  CHECK(message(DotInteraction{}, {kA, kRow}) ==
        "dot_interaction 'dot_interaction': its inputs have lengths 3 and 4");
  CHECK(message(GroupNormalization{.groups = 3}, {kTwoSteps}) ==
        "group_normalization 'group_normalization': 4 channels cannot be split into 3 groups");
  CHECK(message(Conv1D{.filters = 3, .kernel_size = 1, .groups = 2}, {kTwoSteps}) ==
        "conv1d 'conv1d': 4 channels and 3 filters cannot be split into 2 groups");
  CHECK(message(Cropping1D{.cropping = int64_t{1}}, {Counted({1, 2, 3})}) ==
        "cropping1d 'cropping1d': removes 2 of 2 rows, which leaves none");
  CHECK(message(ReLU{.negative_slope = -1}, {kRow}) ==
        "re_lu 're_lu': negative_slope is -1, expected at least 0");
  CHECK(message(Normalization{.mean = 1.0}, {kA}) ==
        "normalization 'normalization': needs both mean and variance, or neither");
}

}  // namespace
}  // namespace tpuest::nn
