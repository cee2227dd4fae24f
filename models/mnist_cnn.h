#pragma once
// The convolutional network of TensorFlow's MNIST tutorial.

#include <optional>
#include <string>

#include "models/build_spec.h"

namespace tpuest::models {

// Classifies an image [784], [28, 28] or [28, 28, 1] into ten classes: conv 5x5x32, pool 2, conv
// 5x5x64, pool 2, dense 128, dropout, dense 10; with ReLU in between and MultiClassHead. Variables
// conv2d, conv2d_1, dense, dense_1. Build throws Error kUsage for another shape.
struct MnistCnn {
  static constexpr std::string_view kType = "mnist_cnn";
  static constexpr std::string_view kSummary =
      "two convolutions and two dense layers, from 28x28 images to ten classes";
  double dropout_rate = 0.4;
  std::optional<nn::PremadeOptimizer> optimizer;
  std::string precision = "float32";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("dropout_rate", dropout_rate,
      {.help = "dropout rate of the dense layer in training, below 1"});
    v("optimizer", optimizer, {.help = kOwnOptimizerHelp});
    v("precision", precision,
      {.help = kPrecisionHelp, .tpuest = true, .values = {"float32", "bfloat16"}});
  }

  [[nodiscard]] nn::AnyHead Head() const;
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

}  // namespace tpuest::models
