#pragma once
// The optimizers of tf.train, with their arguments, defaults and slot names, and LARSOptimizer
// (tf.contrib.opt) and AdamWeightDecayOptimizer (BERT).

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/nn/optimizers/moving_average.h"
#include "core/nn/optimizers/schedules.h"
#include "core/nn/optimizers/shared_options.h"

namespace tpuest::nn {

// How the replicas' gradients are combined. MEAN: gradient of the mean of the replicas' losses;
// SUM: gradient of their sum.
struct CrossShardOptimizer {
  std::string reduction = "MEAN";

  template <class V>
  void Visit(V& v) {
    v("reduction", reduction,
      {.help = "reduction of the replicas' losses", .values = {"MEAN", "SUM"}});
  }
};

// The arguments that every optimizer's section has besides its own.
struct GradientOptions {
  CrossShardOptimizer cross_shard_optimizer;
  std::optional<double> clip_by_global_norm;
  int64_t gradient_accumulation_steps = 1;
  std::optional<ExponentialMovingAverage> exponential_moving_average;

  template <class V>
  void Visit(V& v) {
    v("cross_shard_optimizer", cross_shard_optimizer,
      {.help = "implied if there are several replicas"});
    v("clip_by_global_norm", clip_by_global_norm,
      {.help = "largest norm of all gradients together, after the sum over replicas",
       .tpuest = true});
    v("gradient_accumulation_steps", gradient_accumulation_steps,
      {.help = "number of steps whose mean gradient is applied at once; a step is one batch and "
               "one global_step, as in Keras 3",
       .tpuest = true});
    v("exponential_moving_average", exponential_moving_average,
      {.help = "arguments of tf.train.ExponentialMovingAverage, over all trainable variables",
       .tpuest = true});
  }
};

inline constexpr std::string_view kLearningRateHelp = "a number, a formula of step, or a schedule";

// Gradient descent: w -= lr g. No slots.
struct GradientDescentOptimizer {
  static constexpr std::string_view kType = "GradientDescentOptimizer";
  static constexpr std::string_view kSummary = "tf.train: plain gradient descent";
  LearningRate learning_rate;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    gradients.Visit(v);
  }
};

// Momentum (Polyak 1964): m = momentum m + g; w -= lr m. Slot <var>/Momentum.
struct MomentumOptimizer {
  static constexpr std::string_view kType = "MomentumOptimizer";
  static constexpr std::string_view kSummary = "tf.train: keeps a part of the last update";
  LearningRate learning_rate;
  double momentum = 0.0;
  bool use_nesterov = false;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    v("momentum", momentum, {.help = kMomentumHelp, .required = true});
    v("use_nesterov", use_nesterov, {.help = kNesterovHelp});
    gradients.Visit(v);
  }
};

// Adam (Kingma & Ba 2014), with epsilon as in the formula just before their section 2.1. Slots
// <var>/Adam and <var>/Adam_1; beta1_power and beta2_power.
struct AdamOptimizer {
  static constexpr std::string_view kType = "AdamOptimizer";
  static constexpr std::string_view kSummary =
      "tf.train: uses moving averages of the gradient and its square";
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp});
    v("beta1", beta1, {.help = kMeanHelp});
    v("beta2", beta2, {.help = kSquaresHelp});
    v("epsilon", epsilon, {.help = kRootEpsilonHelp});
    gradients.Visit(v);
  }
};

// Adagrad (Duchi et al. 2011): n += g^2; w -= lr g / sqrt(n). Slot <var>/Adagrad.
struct AdagradOptimizer {
  static constexpr std::string_view kType = "AdagradOptimizer";
  static constexpr std::string_view kSummary =
      "tf.train: smaller steps for weights with larger past gradients";
  LearningRate learning_rate;
  double initial_accumulator_value = 0.1;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    v("initial_accumulator_value", initial_accumulator_value, {.help = kAccumulatorHelp});
    gradients.Visit(v);
  }
};

// RMSProp: n = decay n + (1 - decay) g^2; m = momentum m + lr g / sqrt(n + epsilon); w -= m. Slots
// <var>/RMSProp (n) and <var>/RMSProp_1 (m); if centered, RMSProp_1 is the mean gradient and
// RMSProp_2 is m.
struct RMSPropOptimizer {
  static constexpr std::string_view kType = "RMSPropOptimizer";
  static constexpr std::string_view kSummary =
      "tf.train: divides by the root of a moving average of squares";
  LearningRate learning_rate;
  double decay = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-10;
  bool centered = false;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    v("decay", decay, {.help = "decay of the mean of squared gradients"});
    v("momentum", momentum, {.help = kMomentumHelp});
    v("epsilon", epsilon, {.help = "number added under the root"});
    v("centered", centered, {.help = kCenteredHelp});
    gradients.Visit(v);
  }
};

// Follow the regularized leader (McMahan et al. 2013). Slots <var>/Ftrl (sum of squares),
// <var>/Ftrl_1 (linear). The slots alone determine the variable: as in TensorFlow, the first step
// overwrites loaded weights.
struct FtrlOptimizer {
  static constexpr std::string_view kType = "FtrlOptimizer";
  static constexpr std::string_view kSummary =
      "tf.train: follow the regularized leader; l1 makes weights sparse";
  LearningRate learning_rate;
  FtrlOptions ftrl;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    ftrl.Visit(v);
    gradients.Visit(v);
  }
};

// Layer-wise rates (You, Gitman & Ginsburg 2017): momentum with a rate per variable,
// lr * eeta |w| / (|g| + weight_decay |w| + epsilon). Slot <var>/LARSOptimizer.
struct LARSOptimizer {
  static constexpr std::string_view kType = "LARSOptimizer";
  static constexpr std::string_view kSummary =
      "scales the rate of each variable by its norm and its gradient's norm, for large batches";
  LearningRate learning_rate;
  double momentum = 0.9;
  double weight_decay = 0.0001;
  double eeta = 0.001;
  double epsilon = 0.0;
  std::vector<std::string> skip_list;
  bool use_nesterov = false;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    v("momentum", momentum, {.help = kMomentumHelp});
    v("weight_decay", weight_decay, {.help = "weight decay of the scaled variables"});
    v("eeta", eeta, {.help = "trust coefficient of the paper"});
    v("epsilon", epsilon, {.help = "number added to the denominator"});
    v("skip_list", skip_list, {.help = "parts of names of variables that are not scaled"});
    v("use_nesterov", use_nesterov, {.help = kNesterovHelp});
    gradients.Visit(v);
  }
};

// Adam without bias correction and with decoupled weight decay (Devlin et al. 2018). Slots
// <var>/adam_m, <var>/adam_v.
struct AdamWeightDecayOptimizer {
  static constexpr std::string_view kType = "AdamWeightDecayOptimizer";
  static constexpr std::string_view kSummary =
      "Adam with separate weight decay, without bias correction";
  LearningRate learning_rate;
  double weight_decay_rate = 0.0;
  AdamDecays decays;
  double epsilon = 1e-6;
  std::vector<std::string> exclude_from_weight_decay;
  GradientOptions gradients;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kLearningRateHelp, .required = true});
    v("weight_decay_rate", weight_decay_rate,
      {.help = "fraction of each weight to subtract, times the learning rate"});
    decays.Visit(v);
    v("epsilon", epsilon, {.help = kRootEpsilonHelp});
    v("exclude_from_weight_decay", exclude_from_weight_decay,
      {.help = "patterns of variable names without weight decay, such as LayerNorm, bias"});
    gradients.Visit(v);
  }
};

using AnyOptimizer =
    std::variant<GradientDescentOptimizer, MomentumOptimizer, AdamOptimizer, AdagradOptimizer,
                 RMSPropOptimizer, FtrlOptimizer, LARSOptimizer, AdamWeightDecayOptimizer>;

}  // namespace tpuest::nn
