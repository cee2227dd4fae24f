#pragma once
// The optimizers of tf.keras.optimizers.legacy, which premade estimators take: their arguments,
// defaults and slot names.

#include <optional>
#include <string_view>
#include <variant>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/nn/optimizers/schedules.h"
#include "core/nn/optimizers/shared_options.h"

namespace tpuest::nn {

// The arguments that every optimizer has besides its own. Clipping comes after the sum over
// replicas: first by value, then each gradient by its own norm or all gradients of the optimizer by
// their global norm.
struct KerasOptions {
  // The learning rate; null: the model's, or the optimizer's default.
  std::optional<LearningRate> learning_rate;
  double decay = 0.0;
  std::optional<double> clipvalue;
  std::optional<double> clipnorm;
  std::optional<double> global_clipnorm;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate,
      {.help = "a number, a formula of step, or a schedule; `null` is the model's default, "
               "otherwise Keras'"});
    v("decay", decay, {.help = "divide the rate by 1 + decay * step"});
    v("clipvalue", clipvalue, {.help = "largest absolute value of an element of a gradient"});
    v("clipnorm", clipnorm, {.help = "largest norm of a gradient"});
    v("global_clipnorm", global_clipnorm, {.help = "largest norm of all gradients together"});
  }
};

// Gradient descent: w -= lr g; with momentum m = momentum m - lr g, w += m. Slot momentum, only
// with momentum.
struct SGD {
  static constexpr std::string_view kType = "SGD";
  static constexpr std::string_view kSummary = "tf.keras: gradient descent with momentum";
  static constexpr double kLearningRate = 0.01;
  KerasOptions options;
  double momentum = 0.0;
  bool nesterov = false;
  Place place;

  template <class V>
  void Visit(V& v) {
    options.Visit(v);
    v("momentum", momentum, {.help = "fraction of the last update to keep, 0 to 1"});
    v("nesterov", nesterov, {.help = kNesterovHelp});
  }
};

// Adam (Kingma & Ba 2014), with epsilon as in the formula just before their section 2.1: m and v
// are decaying means of g and g^2; w -= lr sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) +
// epsilon). Slots m, v. Sparse gradients decay the slots of every row.
struct Adam {
  static constexpr std::string_view kType = "Adam";
  static constexpr std::string_view kSummary =
      "tf.keras: uses moving averages of the gradient and its square";
  static constexpr double kLearningRate = 0.001;
  KerasOptions options;
  AdamDecays decays;
  double epsilon = 1e-7;
  Place place;

  template <class V>
  void Visit(V& v) {
    options.Visit(v);
    decays.Visit(v);
    v("epsilon", epsilon, {.help = kRootEpsilonHelp});
  }
};

// RMSprop: n = rho n + (1 - rho) g^2; w -= lr g / (sqrt(n) + epsilon). With momentum m = momentum m
// + lr g / sqrt(n + epsilon), w -= m. `centered` subtracts the squared mean gradient from n. Slots
// rms, momentum (only with momentum), mg (only if centered).
struct RMSprop {
  static constexpr std::string_view kType = "RMSprop";
  static constexpr std::string_view kSummary =
      "tf.keras: divides by the root of a moving average of squares";
  static constexpr std::string_view kAliases[] = {"RMSProp"};
  static constexpr double kLearningRate = 0.001;
  KerasOptions options;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  Place place;

  template <class V>
  void Visit(V& v) {
    options.Visit(v);
    v("rho", rho, {.help = "decay of the mean of squared gradients"});
    v("momentum", momentum, {.help = "fraction of the last update to keep, 0 to 1"});
    v("epsilon", epsilon, {.help = "number added to the root; with momentum, under the root"});
    v("centered", centered, {.help = kCenteredHelp});
  }
};

// Adagrad (Duchi et al. 2011): n += g^2; w -= lr g / (sqrt(n) + epsilon). Slot accumulator.
struct Adagrad {
  static constexpr std::string_view kType = "Adagrad";
  static constexpr std::string_view kSummary =
      "tf.keras: smaller steps for weights with larger past gradients";
  static constexpr double kLearningRate = 0.001;
  KerasOptions options;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  Place place;

  template <class V>
  void Visit(V& v) {
    options.Visit(v);
    v("initial_accumulator_value", initial_accumulator_value, {.help = kAccumulatorHelp});
    v("epsilon", epsilon, {.help = "number added to the square root of the accumulator"});
  }
};

// Follow the regularized leader (McMahan et al. 2013). Slots accumulator (sum of squares) and
// linear.
struct Ftrl {
  static constexpr std::string_view kType = "Ftrl";
  static constexpr std::string_view kSummary =
      "tf.keras: follow the regularized leader; l1 makes weights sparse";
  static constexpr double kLearningRate = 0.001;
  KerasOptions options;
  FtrlOptions ftrl;
  Place place;

  template <class V>
  void Visit(V& v) {
    options.Visit(v);
    ftrl.Visit(v);
  }
};

using KerasOptimizer = std::variant<SGD, Adam, RMSprop, Adagrad, Ftrl>;

}  // namespace tpuest::nn
