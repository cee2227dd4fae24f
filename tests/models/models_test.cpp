#include <doctest/doctest.h>

#include <string_view>

#include "core/kernels/isa/cpu_isa.h"
#include "models/zoo.h"
#include "tests/core/nn/session.h"

namespace tpuest::models {
namespace {

using nn::Session;

const models::JobContext kTrain{.optimizer = nn::GradientDescentOptimizer{.learning_rate = 0.05}};

ModelInputs Images(Session& session, const Shape& example, int64_t batch = kUnknownDim) {
  std::vector<int64_t> dims = example.dims();
  dims.insert(dims.begin(), batch);
  Graph& graph = session.graph();
  return {.features = {{"image", graph.Placeholder(DType::kFloat, Shape(dims), "image")}},
          .labels = graph.Placeholder(DType::kInt32, Shape{batch}, "label")};
}

TPUEstimatorSpec Build(Session& session, const AnyModel& model, const ModelInputs& inputs,
                       Mode mode, const models::JobContext& train = kTrain, int replicas = 1) {
  return MakeModelFn(model, train)(session.graph(), inputs, mode,
                                   {.use_tpu = true, .replicas = replicas});
}

Sequential MnistLayers() {
  return {.layers = {nn::Reshape{.shape = {28, 28, 1}},
                     nn::Conv2D{.filters = 32,
                                .kernel_size = std::vector<int64_t>{5, 5},
                                .padding = "same",
                                .activation = "relu"},
                     nn::MaxPooling2D{.pool_size = 2, .strides = 2},
                     nn::Conv2D{.filters = 64,
                                .kernel_size = std::vector<int64_t>{5, 5},
                                .padding = "same",
                                .activation = "relu"},
                     nn::MaxPooling2D{.pool_size = 2, .strides = 2}, nn::Flatten{},
                     nn::Dense{.units = 128, .activation = "relu"}, nn::Dropout{.rate = 0.4},
                     nn::Dense{.units = 10}},
          .head = nn::MultiClassHead{.n_classes = 10},
          .metrics = {nn::AccuracyOptions{}}};
}

// Images whose brightest row tells the class.
std::vector<nn::Feed> Batch(const ModelInputs& inputs, int64_t size) {
  std::vector<float> pixels(static_cast<size_t>(size * 784), 0.0F);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < size; ++i) {
    labels.push_back(static_cast<int32_t>(i % 10));
    for (int64_t x = 0; x < 56; ++x) pixels[static_cast<size_t>(i * 784 + i % 10 * 56 + x)] = 1;
  }
  return {{inputs.features.at("image"), {Tensor::Of<float>({size, 784}, pixels)}},
          {inputs.labels.only(), {Tensor::Of<int32_t>({size}, labels)}}};
}

TEST_CASE("mnist_cnn has the variables of TensorFlow's tutorial") {
  Session session;
  (void)Build(session, MnistCnn{}, Images(session, {784}), Mode::kTrain);
  const std::vector<std::pair<std::string, Shape>> expected = {{"conv2d/kernel", {5, 5, 1, 32}},
                                                               {"conv2d/bias", {32}},
                                                               {"conv2d_1/kernel", {5, 5, 32, 64}},
                                                               {"conv2d_1/bias", {64}},
                                                               {"dense/kernel", {3136, 128}},
                                                               {"dense/bias", {128}},
                                                               {"dense_1/kernel", {128, 10}},
                                                               {"dense_1/bias", {10}},
                                                               {"global_step", {}}};
  REQUIRE(session.graph().variables().size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(session.graph().variables()[i]->name == expected[i].first);
    CHECK(session.graph().variables()[i]->shape == expected[i].second);
  }
}

TEST_CASE("mnist_cnn takes images of three shapes and no other") {
  for (const Shape& shape : {Shape{784}, Shape{28, 28}, Shape{28, 28, 1}}) {
    Session session;
    const auto spec = Build(session, MnistCnn{}, Images(session, shape), Mode::kPredict);
    CHECK(spec.predictions.at("logits").shape() == Shape{kUnknownDim, 10});
  }
  Session session;
  CHECK_THROWS_WITH_AS(
      (void)Build(session, MnistCnn{}, Images(session, {28, 28, 3}), Mode::kPredict),
      "mnist_cnn takes images [batch, 784], [batch, 28, 28] or [batch, 28, 28, 1], got "
      "[?,28,28,3]",
      Error);
}

TEST_CASE("mnist_cnn and its layers written out are one model, to the bit") {
  const auto losses = [](const AnyModel& model) {
    Session session;
    const ModelInputs inputs = Images(session, {784}, 16);
    const auto spec = Build(session, model, inputs, Mode::kTrain);
    session.Initialize();
    std::vector<float> losses;
    for (int step = 0; step < 3; ++step) {
      losses.push_back(
          *session.RunAll({spec.loss}, {spec.train_op}, Batch(inputs, 16))[0][0].data<float>());
    }
    return losses;
  };
  CHECK(losses(MnistCnn{}) == losses(MnistLayers()));
}

TEST_CASE("mnist_cnn learns, in float32 and in bfloat16") {
  for (const char* const precision : {"float32", "bfloat16"}) {
    CAPTURE(precision);
    if (std::string_view(precision) == "bfloat16" && !ChosenCpuIsa().bfloat16) continue;
    Session session;
    const ModelInputs inputs = Images(session, {784}, 20);
    const auto spec =
        Build(session, MnistCnn{.dropout_rate = 0, .precision = precision}, inputs, Mode::kTrain);
    CHECK(spec.loss.dtype() == DType::kFloat);
    session.Initialize();
    const std::vector<nn::Feed> batch = Batch(inputs, 20);
    const float first = session.Float(spec.loss, batch);
    CHECK(first == doctest::Approx(2.3).epsilon(0.2));
    session.Step(spec.train_op, 30, batch);
    CHECK(session.Float(spec.loss, batch) < 0.5F * first);
    CHECK(session.Floats("global_step") == std::vector<float>{30});
  }
}

TEST_CASE("evaluation has the head's metrics, prediction its signatures") {
  Session session;
  const ModelInputs inputs = Images(session, {784}, 10);
  const auto spec = Build(session, MnistLayers(), inputs, Mode::kEval);
  REQUIRE(spec.eval_metrics.has_value());
  const auto metrics = spec.eval_metrics->fn(session.graph(), spec.eval_metrics->tensors);
  CHECK(metrics.size() == 2);
  session.Initialize();
  for (const auto& [name, metric] : metrics) session.Step(metric.update, 1, Batch(inputs, 10));
  const float accuracy = session.Float(metrics.at("accuracy").value);
  CHECK(accuracy >= 0);
  CHECK(accuracy <= 1);
  CHECK(session.Float(metrics.at("average_loss").value) ==
        doctest::Approx(session.Float(spec.loss, Batch(inputs, 10))));
  CHECK(spec.train_op == nullptr);
  REQUIRE(spec.label_ranges.valid());
  CHECK(spec.label_ranges.only().max == 9);

  Session predicting;
  ModelInputs unlabelled = Images(predicting, {784});
  unlabelled.labels = {};
  const auto predict = Build(predicting, MnistLayers(), unlabelled, Mode::kPredict);
  CHECK(predict.predictions.contains("probabilities"));
  CHECK(predict.export_outputs.at("serving_default").kind == ExportKind::kClassification);
  CHECK(predict.export_outputs.at("predict").kind == ExportKind::kPredict);
  CHECK_FALSE(predict.loss.valid());
}

TEST_CASE("weight decay adds half the squared kernels to the loss") {
  Session session;
  Graph& graph = session.graph();
  const ModelInputs inputs{.features = {{"x", session.Const({1, 2}, {0, 0})}},
                           .labels = session.Ints({1}, {0})};
  const Sequential model{.layers = {nn::Dense{.units = 3,
                                              .kernel_initializer = nn::ConstantInitializer{2},
                                              .bias_initializer = nn::OnesInitializer{}}},
                         .head = nn::MultiClassHead{.n_classes = 3},
                         .l2_weight_decay = 0.5};
  const auto spec = MakeModelFn(model, kTrain)(graph, inputs, Mode::kEval, {});
  session.Initialize();
  // Six kernel elements of 2: 0.5 * 24 / 2.
  CHECK(session.Float(spec.loss) == doctest::Approx(std::log(3.0) + 6));
}

TEST_CASE("a weight column is not the model's input") {
  Session session;
  const ModelInputs inputs{
      .features = {{"x", session.Const({2, 1}, {1, 1})}, {"w", session.Const({2}, {1, 3})}},
      .labels = session.Const({2}, {0, 1})};
  const Sequential model{
      .layers = {nn::Dense{.units = 1, .kernel_initializer = nn::ZerosInitializer{}}},
      .head = nn::RegressionHead{.weight_column = "w"}};
  const auto spec = MakeModelFn(model, kTrain)(session.graph(), inputs, Mode::kEval, {});
  session.Initialize();
  CHECK(session.Float(spec.loss) == 1.5F);
}

TEST_CASE("two features, no optimizer or no labels are refused") {
  const auto message = [](const ModelInputs& inputs, Session& session, Mode mode) {
    try {
      (void)MakeModelFn(MnistLayers(), {})(session.graph(), inputs, mode, {});
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  Session session;
  ModelInputs inputs = Images(session, {784});
  CHECK(message(inputs, session, Mode::kTrain) == "training needs an optimizer");
  Session other;
  inputs = Images(other, {784});
  inputs.features["second"] = inputs.features["image"];
  CHECK(message(inputs, other, Mode::kTrain) == "Sequential takes one feature, got image, second");
  Session third;
  inputs = Images(third, {784});
  inputs.labels = {};
  CHECK(message(inputs, third, Mode::kEval) == "You must provide a labels Tensor. Given: None.");
}

}  // namespace
}  // namespace tpuest::models
