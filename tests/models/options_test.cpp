// Models, heads and optimizers as a job writes them.

#include <doctest/doctest.h>

#include "config/config.h"
#include "models/zoo.h"

namespace tpuest::models {
namespace {

struct Job {
  AnyModel model;
  std::optional<nn::AnyOptimizer> optimizer;

  template <class V>
  void Visit(V& v) {
    v("model", model, {.help = "what is trained", .required = true});
    v("optimizer", optimizer, {.help = "how"});
  }
};

Job Parse(const std::string& text) {
  config::Sources sources;
  return config::ParseJob<Job>(text, "job.yaml", {}, sources).job;
}

TEST_CASE("layers, head and metrics are read by TensorFlow's names") {
  const Job job = Parse(R"(
model:
  type: Sequential
  layers:
    - {type: reshape, shape: [28, 28, 1]}
    - {type: conv2d, filters: 32, kernel_size: [5, 5], padding: same, activation: relu}
    - {type: MaxPooling2D, pool_size: [2, 2], strides: 2}
    - {type: SeparableConv2D, filters: 8, kernel_size: 3, depthwise_initializer: he_normal}
    - flatten
    - {type: Dense, units: 10, kernel_regularizer: {type: l2, l2: 1e-4}}
  head: {type: MultiClassHead, n_classes: 10, loss_reduction: SUM}
  metrics: [accuracy, {type: recall_at_k, k: 5, name: top_5_accuracy}]
  l2_weight_decay: {rate: 1e-4, exclude: [bias]}
  precision: bfloat16
)");
  const auto& model = std::get<Sequential>(job.model);
  REQUIRE(model.layers.size() == 6);
  const auto& conv = std::get<nn::Conv2D>(model.layers[1]);
  CHECK(conv.filters == 32);
  CHECK(std::get<std::vector<int64_t>>(conv.kernel_size) == std::vector<int64_t>{5, 5});
  CHECK(conv.activation == "relu");
  CHECK(conv.place.line == 6);
  CHECK(std::holds_alternative<nn::HeNormal>(
      std::get<nn::SeparableConv2D>(model.layers[3]).depthwise_initializer));
  CHECK(std::holds_alternative<nn::Flatten>(model.layers[4]));
  CHECK(std::get<nn::L2Regularizer>(*std::get<nn::Dense>(model.layers[5]).kernel_regularizer).l2 ==
        1e-4);
  CHECK(std::get<nn::MultiClassHead>(model.head).loss_reduction == "SUM");
  CHECK(std::get<nn::RecallAtKOptions>(model.metrics[1]).name == "top_5_accuracy");
  CHECK(std::get<nn::WeightDecay>(model.l2_weight_decay).exclude ==
        std::vector<std::string>{"bias"});
  CHECK(model.precision == "bfloat16");
  CHECK_FALSE(job.optimizer.has_value());
}

TEST_CASE("an optimizer is read with its schedule, warm-up and gradients") {
  const Job job = Parse(R"(
model: {type: mnist_cnn, dropout_rate: 0}
optimizer:
  type: MomentumOptimizer
  momentum: 0.9
  use_nesterov: true
  learning_rate:
    type: piecewise_constant
    boundaries: [30ep, 2000]
    values: [0.4, 0.04, 4e-3]
    warmup: {type: linear, warmup_steps: 5ep, warmup_learning_rate: 0.0}
  clip_by_global_norm: 5
  cross_shard_optimizer: {reduction: SUM}
)");
  CHECK(std::get<MnistCnn>(job.model).dropout_rate == 0);
  const auto& optimizer = std::get<nn::MomentumOptimizer>(*job.optimizer);
  CHECK(optimizer.use_nesterov);
  CHECK(optimizer.gradients.clip_by_global_norm == 5);
  CHECK(optimizer.gradients.cross_shard_optimizer.reduction == "SUM");
  const auto& schedule = std::get<nn::PiecewiseConstant>(optimizer.learning_rate);
  CHECK(schedule.boundaries[0] == Period{.value = 30, .unit = Period::Unit::kEpochs});
  CHECK(schedule.boundaries[1] == Period{.value = 2000});
  CHECK(std::get<nn::LinearWarmup>(*schedule.warmup).warmup_steps.value == 5);
}

TEST_CASE("a number is a learning rate") {
  const Job job = Parse(R"(
model: mnist_cnn
optimizer: {type: AdamOptimizer, learning_rate: 1e-4}
)");
  const auto& optimizer = std::get<nn::AdamOptimizer>(*job.optimizer);
  CHECK(std::get<double>(optimizer.learning_rate) == 1e-4);
  CHECK(optimizer.epsilon == 1e-8);
}

TEST_CASE("an unknown layer, activation or argument is refused with its place") {
  const auto fault = [](const std::string& layer) {
    try {
      (void)Parse("model:\n  type: Sequential\n  layers:\n    - " + layer +
                  "\n  head: {type: RegressionHead}\n");
    } catch (const Error& error) {
      CHECK(error.faults().front().place.line == 4);
      return error.message();
    }
    return std::string();
  };
  CHECK(fault("{type: dens, units: 1}") != "");
  CHECK(fault("{type: dense, units: 1, activation: rellu}") != "");
  CHECK(fault("{type: dense, unit: 1}") != "");
  CHECK(fault("{type: dense}") != "");
  CHECK(fault("{type: dense, units: 1}") == "");
}

}  // namespace
}  // namespace tpuest::models
