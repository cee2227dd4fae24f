#pragma once
// The arguments that optimizers of tf.train and of Keras have in common.

#include <string_view>

namespace tpuest::nn {

inline constexpr std::string_view kMeanHelp = "decay of the mean of gradients";
inline constexpr std::string_view kSquaresHelp = "decay of the mean of squared gradients";
inline constexpr std::string_view kRootEpsilonHelp =
    "number added to the root of the mean of squared gradients";
inline constexpr std::string_view kMomentumHelp = "fraction of the last update to keep";
inline constexpr std::string_view kNesterovHelp = "use Nesterov momentum, Sutskever et al. 2013";
inline constexpr std::string_view kCenteredHelp = "subtract the squared mean gradient";
inline constexpr std::string_view kAccumulatorHelp = "initial value of n";

// McMahan et al. 2013: the arguments of FtrlOptimizer and Ftrl.
struct FtrlOptions {
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;

  template <class V>
  void Visit(V& v) {
    v("learning_rate_power", learning_rate_power,
      {.help = "power of the learning rate, at most 0; 0 keeps the rate fixed"});
    v("initial_accumulator_value", initial_accumulator_value,
      {.help = "initial value of the sum of squares"});
    v("l1_regularization_strength", l1_regularization_strength, {.help = "l1 penalty, at least 0"});
    v("l2_regularization_strength", l2_regularization_strength, {.help = "l2 penalty, at least 0"});
    v("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength,
      {.help = "penalty on the size of weights, at least 0"});
    v("beta", beta, {.help = "beta of the paper"});
  }
};

// The decays of Adam's two means where they are called beta_1 and beta_2.
struct AdamDecays {
  double beta_1 = 0.9;
  double beta_2 = 0.999;

  template <class V>
  void Visit(V& v) {
    v("beta_1", beta_1, {.help = kMeanHelp});
    v("beta_2", beta_2, {.help = kSquaresHelp});
  }
};

}  // namespace tpuest::nn
