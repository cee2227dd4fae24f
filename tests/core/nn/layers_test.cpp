#include "core/nn/layers/layers.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/ops/array.h"
#include "core/ops/reduction.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

std::vector<std::string> VariableNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& variable : graph.variables()) names.push_back(variable->name);
  return names;
}

Value Image(Session& session, int64_t side, int64_t channels) {
  return session.graph().Placeholder(DType::kFloat, Shape{kUnknownDim, side, side, channels}, "x");
}

TEST_CASE("variables have tf.layers' names, shapes and Keras's object paths") {
  Session session;
  LayerContext context{.graph = session.graph(), .training = true};
  Value x = Image(session, 8, 3);
  x = Conv2D{.filters = 4, .kernel_size = 3}.Apply(context, x);
  x = Conv2D{.filters = 4, .kernel_size = std::vector<int64_t>{3, 3}}.Apply(context, x);
  x = SeparableConv2D{.filters = 5, .kernel_size = 3}.Apply(context, x);
  x = BatchNormalization{}.Apply(context, x);
  x = Flatten{}.Apply(context, x);
  x = Dense{.units = 3}.Apply(context, x);
  x = Dense{.units = 2}.Apply(context, x);
  CHECK(VariableNames(session.graph()) ==
        std::vector<std::string>{
            "conv2d/kernel", "conv2d/bias", "conv2d_1/kernel", "conv2d_1/bias",
            "separable_conv2d/depthwise_kernel", "separable_conv2d/pointwise_kernel",
            "separable_conv2d/bias", "batch_normalization/gamma", "batch_normalization/beta",
            "batch_normalization/moving_mean", "batch_normalization/moving_variance",
            "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"});
  const Graph& graph = session.graph();
  CHECK(graph.FindVariable("conv2d_1/kernel")->shape == Shape{3, 3, 4, 4});
  CHECK(graph.FindVariable("separable_conv2d/depthwise_kernel")->shape == Shape{3, 3, 4, 1});
  CHECK(graph.FindVariable("separable_conv2d/pointwise_kernel")->shape == Shape{1, 1, 4, 5});
  CHECK(graph.FindVariable("dense/kernel")->shape == Shape{20, 3});
  CHECK(graph.FindVariable("dense_1/bias")->object_path == "layer_with_weights-5/bias");
  CHECK_FALSE(graph.FindVariable("batch_normalization/moving_mean")->trainable);
}

TEST_CASE("a graph knows its layers and their outputs, including layers without variables") {
  Session session;
  LayerContext context{.graph = session.graph(), .training = true};
  Value x = Image(session, 8, 3);
  x = Apply(Conv2D{.filters = 4, .kernel_size = 3, .place = {"job.yaml", 7, 3}}, context, x);
  x = Apply(MaxPooling2D{.pool_size = 2}, context, x);
  x = Apply(Flatten{}, context, x);
  x = Apply(Dropout{.rate = 0.0}, context, x);
  x = Apply(BatchNormalization{}, context, x);
  (void)Apply(Dense{.units = 2, .name = "logits"}, context, x);
  std::string layers;
  for (const GraphLayer& layer : session.graph().layers()) {
    layers += fmt::format("{} {} {}\n", layer.name, layer.type, layer.output.shape().Text());
  }
  CHECK(layers ==
        "conv2d conv2d [?,6,6,4]\n"
        "max_pooling2d max_pooling2d [?,3,3,4]\n"
        "flatten flatten [?,36]\n"
        "dropout dropout [?,36]\n"
        "batch_normalization batch_normalization [?,36]\n"
        "logits dense [?,2]\n");
  const GraphLayer& conv = session.graph().layers().front();
  CHECK(conv.origin.line == 7);
  CHECK(conv.output.node->id() == conv.end_node - 1);
  const int kernel = session.graph().FindVariable("conv2d/kernel")->handle.node->id();
  CHECK((conv.first_node < kernel && kernel < conv.end_node));
}

TEST_CASE("a named layer keeps its name, and a name given twice is refused") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.Const({1, 2}, {1, 2});
  (void)Dense{.units = 1, .name = "logits"}.Apply(context, x);
  CHECK(session.graph().FindVariable("logits/kernel") != nullptr);
  CHECK_THROWS_WITH_AS((void)(Dense{.units = 1, .name = "logits"}.Apply(context, x)),
                       "variable 'logits/kernel' exists already", Error);
}

TEST_CASE("dense multiplies the last axis, adds the bias and activates") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Dense layer{.units = 2,
                    .activation = "relu",
                    .kernel_initializer = ConstantInitializer{2},
                    .bias_initializer = ConstantInitializer{-5}};
  const Value y = layer.Apply(context, session.Const({2, 2}, {1, 1, 2, 3}));
  const Value deep = layer.Apply(context, session.Const({1, 2, 2}, {1, 1, 2, 3}));
  session.Initialize();
  CHECK(session.Floats(y) == std::vector<float>{0, 0, 5, 5});
  CHECK(deep.shape().rank() == 3);
  CHECK(session.Floats(deep) == std::vector<float>{0, 0, 5, 5});
}

TEST_CASE("convolution, depthwise convolution and pooling over a small image") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.Const({1, 2, 2, 1}, {1, 2, 3, 4});
  const Value conv = Conv2D{.filters = 1,
                            .kernel_size = 2,
                            .padding = "same",
                            .use_bias = false,
                            .kernel_initializer = OnesInitializer{}}
                         .Apply(context, x);
  const Value depthwise = DepthwiseConv2D{
      .kernel_size = 2,
      .depth_multiplier = 2,
      .use_bias = false,
      .depthwise_initializer =
          OnesInitializer{}}.Apply(context, x);
  const Value largest = MaxPooling2D{}.Apply(context, x);
  const Value mean =
      AveragePooling2D{.pool_size = 2, .strides = 1, .padding = "same"}.Apply(context, x);
  const Value over_all = GlobalAveragePooling2D{}.Apply(context, x);
  const Value largest_of_all = GlobalMaxPooling2D{}.Apply(context, x);
  session.Initialize();
  CHECK(session.Floats(conv) == std::vector<float>{10, 6, 7, 4});
  CHECK(session.Floats(depthwise) == std::vector<float>{10, 10});
  CHECK(session.Floats(largest) == std::vector<float>{4});
  CHECK(session.Floats(mean) == std::vector<float>{2.5F, 3, 3.5F, 4});
  CHECK(session.Floats(over_all) == std::vector<float>{2.5F});
  CHECK(over_all.shape() == Shape{1, 1});
  CHECK(session.Floats(largest_of_all) == std::vector<float>{4});
}

TEST_CASE("activations by name are TensorFlow's") {
  const auto at = [](const char* name) {
    Session session;
    return session.Floats(Activate(name, session.Const({1, 3}, {-1.5F, 0, 2})));
  };
  CHECK(Near(at("linear"), {-1.5, 0, 2}));
  CHECK(Near(at("relu"), {0, 0, 2}));
  CHECK(Near(at("relu6"), {0, 0, 2}));
  CHECK(Near(at("gelu"), {-0.100210726, 0, 1.95449972}));
  CHECK(Near(at("swish"), {-0.273638278, 0, 1.76159418}));
  CHECK(Near(at("leaky_relu"), {-0.3, 0, 2}));
  CHECK(Near(at("selu"), {-1.36581433, 0, 2.10140204}));
  CHECK(Near(at("softsign"), {-0.6, 0, 0.666666687}));
  CHECK(Near(at("elu"), {-0.776869833, 0, 2}));
  CHECK(Near(at("softplus"), {0.201413289, 0.693147182, 2.12692809}));
  CHECK(Near(at("tanh"), {-0.905148254, 0, 0.964027580}));
  CHECK(Near(at("sigmoid"), {0.182425524, 0.5, 0.880797078}));
  CHECK_THROWS_WITH_AS((void)at("rellu"), "unknown activation 'rellu'", Error);
}

TEST_CASE("reshape infers a missing dimension") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.graph().Placeholder(DType::kFloat, Shape{kUnknownDim, 12}, "x");
  CHECK(Reshape{.shape = {2, -1, 3}}.Apply(context, x).shape() == Shape{kUnknownDim, 2, 2, 3});
  CHECK_THROWS_WITH_AS((void)(Reshape{.shape = {5, -1}}.Apply(context, x)),
                       "reshape 'reshape_1': an example of 12 elements does not fit into [5,?]",
                       Error);
}

TEST_CASE("transpose also moves the batch") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.graph().Placeholder(DType::kFloat, Shape{4, 5, 3, kUnknownDim}, "x");
  CHECK(Transpose{.perm = {3, 0, 1, 2}}.Apply(context, x).shape() == Shape{kUnknownDim, 4, 5, 3});
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 1, 2}, {0, 1, 2, 2}}) {
    CHECK_THROWS_AS((void)(Transpose{.perm = perm}.Apply(context, x)), Error);
  }
}

TEST_CASE("a penalty below 0 is refused") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.Const({1, 2}, {1, 2});
  CHECK_THROWS_WITH_AS(
      (void)(Dense{.units = 1, .kernel_regularizer = L2Regularizer{-0.1}}.Apply(context, x)),
      "l2 is -0.1, expected at least 0", Error);
  CHECK_THROWS_WITH_AS((void)(ActivityRegularization{.l1 = -1}.Apply(context, x)),
                       "l1 is -1, expected at least 0", Error);
}

TEST_CASE("a layer that does not fit its input reports that at its place") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value flat = session.graph().Placeholder(DType::kFloat, Shape{kUnknownDim, 784}, "x");
  const Layer layer =
      Conv2D{.filters = 1, .kernel_size = 3, .place = {.file = "job.yaml", .line = 9, .column = 7}};
  try {
    (void)Apply(layer, context, flat);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.message() == "conv2d 'conv2d': takes an input of rank 4, got [?,784]");
    CHECK(error.faults().front().place.line == 9);
    CHECK(error.code() == Code::kUsage);
  }
}

TEST_CASE("a kernel larger than the image is refused at the layer's place") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Layer layer =
      Conv2D{.filters = 1, .kernel_size = 5, .place = {.file = "job.yaml", .line = 4, .column = 7}};
  try {
    (void)Apply(layer, context, Image(session, 3, 1));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.faults().front().place.line == 4);
  }
}

// ---- dropout ------------------------------------------------------------------------------------

std::vector<float> Dropped(const std::string& name, bool training, uint64_t seed = 1,
                           double rate = 0.25) {
  Session session(1, seed);
  LayerContext context{.graph = session.graph(), .training = training};
  const Value x = session.Const({40, 5}, std::vector<float>(200, 3));
  return session.Floats(Dropout{.rate = rate, .name = name}.Apply(context, x));
}

TEST_CASE("dropout zeroes about its rate and scales the rest") {
  const std::vector<float> y = Dropped("dropout", true);
  const auto zeros = std::count(y.begin(), y.end(), 0.0F);
  const auto scaled = std::count(y.begin(), y.end(), 4.0F);
  CHECK(zeros + scaled == 200);
  CHECK(zeros > 30);
  CHECK(zeros < 70);
}

TEST_CASE("a layer with another seed draws another mask") {
  const auto mask = [](const Seed& seed) {
    Session session;
    LayerContext context{.graph = session.graph(), .training = true};
    const Value x = session.Const({1, 64}, std::vector<float>(64, 1));
    return session.Floats(Dropout{.rate = 0.5, .seed = seed}.Apply(context, x));
  };
  CHECK(mask(7) == mask(7));
  CHECK(mask(7) != mask(8));
  CHECK(mask(0) != mask(std::nullopt));
}

TEST_CASE("two layers with one seed draw one mask, and without seeds two") {
  const auto masks = [](const Seed& first, const Seed& second) {
    Session session;
    LayerContext context{.graph = session.graph(), .training = true};
    const Value x = session.Const({1, 64}, std::vector<float>(64, 1));
    const Value y = SpatialDropout1D{.rate = 0.5, .seed = first}.Apply(
        context, session.Const({1, 1, 64}, std::vector<float>(64, 1)));
    return std::pair(session.Floats(y),
                     session.Floats(Dropout{.rate = 0.5, .seed = second}.Apply(context, x)));
  };
  for (const int64_t seed : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    const auto [first, second] = masks(seed, seed);
    CHECK(first == second);
    CHECK(masks(seed, seed + 1).second != second);
  }
  const auto [first, second] = masks({}, {});
  CHECK(first != second);
}

TEST_CASE("dropout does nothing outside training and at rate 0") {
  const std::vector<float> same(200, 3);
  CHECK(Dropped("dropout", false) == same);
  CHECK(Dropped("dropout", true, 1, 0) == same);
}

TEST_CASE("a mask is a function of seed and layer") {
  CHECK(Dropped("dropout", true) == Dropped("dropout", true));
  CHECK(Dropped("dropout", true) != Dropped("dropout", true, 2));
  CHECK(Dropped("dropout", true) != Dropped("dropout_1", true));
}

// ---- batch normalisation ------------------------------------------------------------------------

struct Normalized {
  std::vector<float> y;
  std::vector<float> mean;
  std::vector<float> variance;
};

Normalized Normalize(const Shape& shape, bool training) {
  Session session;
  LayerContext context{.graph = session.graph(), .training = training};
  const Value x = session.Const(shape, {1, 10, 2, 20, 4, 40, 5, 50});
  const Value y = BatchNormalization{}.Apply(context, x);
  session.Initialize();
  const std::vector<float> values = session.Floats(y);
  session.Step(ops::NoOp(session.graph(), context.updates));
  return {values, session.Floats("batch_normalization/moving_mean"),
          session.Floats("batch_normalization/moving_variance")};
}

const std::vector<double> kNormalized = {-1.26465821, -1.26490843, -0.632329106, -0.632454216,
                                         0.632329106, 0.632454216, 1.26465821,   1.26490843};

TEST_CASE("batch norm of images follows the unbiased variance") {
  const Normalized image = Normalize({2, 1, 2, 2}, true);
  CHECK(Near(image.y, kNormalized));
  CHECK(Near(image.mean, {0.03, 0.3}));
  CHECK(Near(image.variance, {1.02333331, 4.32332993}));
}

TEST_CASE("batch norm of vectors follows the biased variance") {
  const Normalized vectors = Normalize({4, 2}, true);
  CHECK(Near(vectors.y, kNormalized));
  CHECK(Near(vectors.mean, {0.03, 0.3}));
  CHECK(Near(vectors.variance, {1.015, 3.49}));
}

TEST_CASE("batch norm takes its channels from another axis, and examples from all replicas") {
  const std::vector<float> rows = {1, 2, 3, 4, 5, 7, 0, 1, 5, 2, 2, 2};
  const auto run = [&](const BatchNormalization& layer, int replicas) {
    Session session(replicas);
    Graph& graph = session.graph();
    LayerContext context{.graph = graph, .training = true, .replicas = replicas};
    const Value x = graph.Placeholder(DType::kFloat, Shape{kUnknownDim, 2, 3}, "x");
    const Value y = layer.Apply(context, x);
    session.Initialize();
    Feed feed{x, {Tensor::Of<float>({2, 2, 3}, rows)}};
    if (replicas == 2) {
      feed.replicas = {Tensor::Of<float>({1, 2, 3}, {rows.begin(), rows.begin() + 6}),
                       Tensor::Of<float>({1, 2, 3}, {rows.begin() + 6, rows.end()})};
    }
    std::vector<float> all;
    const std::vector<std::vector<Tensor>> given = session.RunAll({y}, context.updates, {feed});
    for (const Tensor& part : given[0]) {
      for (const float value : Session::Floats(part)) all.push_back(value);
    }
    for (const char* const name : {"moving_mean", "moving_variance"}) {
      for (const float value : session.Floats(fmt::format("batch_normalization/{}", name))) {
        all.push_back(value);
      }
    }
    return all;
  };
  CHECK(Near(run({.axis = int64_t{1}, .momentum = 0.5}, 1),
             {-0.6122577, 0, 0.6122576, 0.1767519, 0.7070074, 1.767519, -1.224515, -0.6122577,
              1.836773, -0.8837593, -0.8837593, -0.8837593, 1, 1.833333, 1.833333, 2.277778},
             2e-6));
  const std::vector<double> together = {-0.5069767, -0.3332593, -0.6508564, 1.52093,   1.666296,
                                        1.431884,   -1.182946,  -0.9997779, 0.3905139, 0.1689923,
                                        -0.3332593, -1.171541,  0.875,      1.25,      2.125,
                                        1.59375,    1.625,      2.34375};
  CHECK(Near(run({.momentum = 0.5, .synchronized = true}, 1), together, 2e-6));
  CHECK(Near(run({.momentum = 0.5, .synchronized = true}, 2), together, 2e-6));
}

TEST_CASE("outside training batch norm uses the moving averages and leaves them") {
  const double scale = 1 / std::sqrt(1.001);
  for (const Shape& shape : {Shape{2, 1, 2, 2}, Shape{4, 2}}) {
    const Normalized still = Normalize(shape, false);
    CHECK(still.y[0] == doctest::Approx(scale));
    CHECK(still.y[7] == doctest::Approx(50 * scale));
    CHECK(still.mean == std::vector<float>{0, 0});
    CHECK(still.variance == std::vector<float>{1, 1});
  }
}

TEST_CASE("moving averages follow the mean of the replicas' statistics") {
  Session session(2);
  LayerContext context{.graph = session.graph(), .training = true, .replicas = 2};
  const Value x = session.graph().Placeholder(DType::kFloat, Shape{2, 1}, "x");
  (void)BatchNormalization{}.Apply(context, x);
  session.Initialize();
  session.Step(ops::NoOp(session.graph(), context.updates), 1,
               {{x, {Tensor::Of<float>({2, 1}, {0, 2}), Tensor::Of<float>({2, 1}, {4, 8})}}});
  // Means 1 and 6, variances 1 and 4; a hundredth of the way.
  CHECK(Near(session.Floats("batch_normalization/moving_mean"), {0.035}));
  CHECK(Near(session.Floats("batch_normalization/moving_variance"), {1.015}));
}

// ---- frozen variables, regularisers, precision --------------------------------------------------

TEST_CASE(
    "variables that `trainable` does not match are frozen, with batch norm in inference mode") {
  Session session;
  LayerContext context{
      .graph = session.graph(), .training = true, .trainable = NamePatterns({"dense_1"})};
  Value x = session.Const({2, 2}, {1, 2, 3, 4});
  x = Dense{.units = 2}.Apply(context, x);
  x = BatchNormalization{}.Apply(context, x);
  x = Dense{.units = 2}.Apply(context, x);
  CHECK_FALSE(session.graph().FindVariable("dense/kernel")->trainable);
  CHECK(session.graph().FindVariable("dense_1/kernel")->trainable);
  CHECK(context.updates.empty());
}

TEST_CASE("regularisers penalise weights as Keras does") {
  Session session;
  LayerContext context{.graph = session.graph()};
  const Value x = session.Const({1, 2}, {1, 2});
  (void)Dense{.units = 1,
              .kernel_initializer = ConstantInitializer{-3},
              .kernel_regularizer = L2Regularizer{.l2 = 0.5}}
      .Apply(context, x);
  (void)Dense{.units = 1,
              .kernel_initializer = ConstantInitializer{-3},
              .kernel_regularizer = L1L2Regularizer{.l1 = 1, .l2 = 0.5}}
      .Apply(context, x);
  session.Initialize();
  REQUIRE(context.regularization_losses.size() == 2);
  CHECK(session.Float(context.regularization_losses[0]) == doctest::Approx(9));
  CHECK(session.Float(context.regularization_losses[1]) == doctest::Approx(15));
}

TEST_CASE("in bfloat16 products are bfloat16 and variables stay float32") {
  Session session;
  LayerContext context{.graph = session.graph(), .compute_dtype = DType::kBfloat16};
  const Value x = session.graph().Placeholder(DType::kBfloat16, Shape{kUnknownDim, 4, 4, 2}, "x");
  Value y = Conv2D{.filters = 3, .kernel_size = 3, .activation = "relu"}.Apply(context, x);
  y = BatchNormalization{}.Apply(context, y);
  y = Dense{.units = 2}.Apply(context, Flatten{}.Apply(context, y));
  CHECK(y.dtype() == DType::kBfloat16);
  for (const auto& variable : session.graph().variables()) {
    CHECK(variable->dtype == DType::kFloat);
  }
}

}  // namespace
}  // namespace tpuest::nn
