#pragma once
// The optimizers of embedding tables: tpu.experimental.*Parameters and the other classes in
// TensorFlow's tpu_embedding, with their arguments and defaults. They update only the rows that a
// step looked up, by their own rule and not by the model's optimizer (table_updates.h).

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/nn/optimizers/shared_options.h"

namespace tpuest::nn {

inline constexpr std::string_view kTableRateHelp =
    "learning rate of tables without their own, here or in their column";

// The last arguments of all optimizers of tables but one.
struct RowOptions {
  bool use_gradient_accumulation = true;
  std::optional<double> clip_weight_min;
  std::optional<double> clip_weight_max;
  std::optional<double> weight_decay_factor;
  std::optional<bool> multiply_weight_decay_factor_by_learning_rate;
  std::optional<double> clip_gradient_min;
  std::optional<double> clip_gradient_max;

  template <class V>
  void Visit(V& v) {
    v("use_gradient_accumulation", use_gradient_accumulation,
      {.help = "`false` updates a row that several replicas looked up once per replica, instead of "
               "once by the sum of gradients"});
    v("clip_weight_min", clip_weight_min, {.help = "smallest weight of an updated row"});
    v("clip_weight_max", clip_weight_max, {.help = "largest weight of an updated row"});
    v("weight_decay_factor", weight_decay_factor,
      {.help = "fraction of a row to subtract before its update"});
    v("multiply_weight_decay_factor_by_learning_rate",
      multiply_weight_decay_factor_by_learning_rate,
      {.help = "multiply weight_decay_factor by the learning rate"});
    v("clip_gradient_min", clip_gradient_min, {.help = "smallest element of a row's gradient"});
    v("clip_gradient_max", clip_gradient_max, {.help = "largest element of a row's gradient"});
  }
};

// The regularization in the proximal optimizers: w = sign(w) max(|w| - rate l1, 0) / (1 + rate l2).
struct ProximalOptions {
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;

  template <class V>
  void Visit(V& v) {
    v("l1_regularization_strength", l1_regularization_strength, {.help = "l1 penalty, at least 0"});
    v("l2_regularization_strength", l2_regularization_strength, {.help = "l1 penalty, at least 0"});
  }
};

// Gradient descent: w -= lr g. No slots.
struct StochasticGradientDescentParameters {
  static constexpr std::string_view kType = "StochasticGradientDescentParameters";
  static constexpr std::string_view kSummary = "plain gradient descent on the rows";
  double learning_rate = 0.0;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    rows.Visit(v);
  }
};

// n += g^2; w -= lr g / sqrt(n). Slot <table>/Adagrad.
struct AdagradParameters {
  static constexpr std::string_view kType = "AdagradParameters";
  static constexpr std::string_view kSummary = "smaller steps for rows with larger past gradients";
  double learning_rate = 0.0;
  double initial_accumulator = 0.1;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("initial_accumulator", initial_accumulator, {.help = kAccumulatorHelp});
    rows.Visit(v);
  }
};

// n = beta2 n + (1 - beta2) g^2, or n += g^2 if beta2 is 1; s = g / (n + epsilon)^(1 / exponent); m
// = momentum m + s; w -= lr m, or lr (momentum m + s) with use_nesterov. Slots
// <table>/AdagradMomentum/Accumulator (n) and <table>/AdagradMomentum/Momentum (m).
struct AdagradMomentumParameters {
  static constexpr std::string_view kType = "AdagradMomentumParameters";
  static constexpr std::string_view kSummary = "Adagrad that keeps a part of the last update";
  double learning_rate = 0.0;
  double momentum = 0.0;
  bool use_nesterov = false;
  double exponent = 2;
  double beta2 = 1;
  double epsilon = 1e-10;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("momentum", momentum, {.help = kMomentumHelp, .required = true});
    v("use_nesterov", use_nesterov, {.help = kNesterovHelp});
    v("exponent", exponent,
      {.help = "updates are divided by (n + epsilon)^(1 / exponent); 2 is the square root"});
    v("beta2", beta2, {.help = "decay of n; 1 makes n a sum"});
    v("epsilon", epsilon, {.help = "number added to n under the root"});
    rows.Visit(v);
  }
};

// n += g^2; rate = lr / sqrt(n); w -= rate g, then ProximalOptions. Slot <table>/ProximalAdagrad.
struct ProximalAdagradParameters {
  static constexpr std::string_view kType = "ProximalAdagradParameters";
  static constexpr std::string_view kSummary = "Adagrad that moves rows to 0 by l1 and l2";
  double learning_rate = 0.0;
  double initial_accumulator = 0.1;
  ProximalOptions proximal;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("initial_accumulator", initial_accumulator, {.help = kAccumulatorHelp});
    proximal.Visit(v);
    rows.Visit(v);
  }
};

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= lr m / sqrt(v + epsilon^2), or
// lr m / (sqrt(v) + epsilon). There is no bias correction; the learning rate may include it. Slots
// <table>/Adam/m and <table>/Adam/v.
struct AdamParameters {
  static constexpr std::string_view kType = "AdamParameters";
  static constexpr std::string_view kSummary =
      "uses moving averages of the gradient and its square, without bias correction";
  double learning_rate = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool lazy_adam = true;
  bool sum_inside_sqrt = true;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("beta1", beta1, {.help = kMeanHelp});
    v("beta2", beta2, {.help = kSquaresHelp});
    v("epsilon", epsilon, {.help = "number that keeps the denominator away from 0"});
    v("lazy_adam", lazy_adam, {.help = "`false` updates every row in every step"});
    v("sum_inside_sqrt", sum_inside_sqrt,
      {.help = "`true` adds epsilon's square under the root; `false` adds epsilon to the root"});
    rows.Visit(v);
  }
};

// FTRL (McMahan et al. 2013): n' = n + g^2; s = n'^-p - n^-p, where p is learning_rate_power; l +=
// g - s w / lr; w = (clamp(l, -l1, l1) - l) / ((n'^-p + beta) / lr + 2 l2). With
// multiply_linear_by_learning_rate, l is lr times that, so that a rate of 0 does not cause a
// division by 0. Slots <table>/Ftrl (n) and <table>/Ftrl_1 (l).
struct FtrlParameters {
  static constexpr std::string_view kType = "FtrlParameters";
  static constexpr std::string_view kSummary =
      "follow the regularized leader; l1 makes rows sparse";
  double learning_rate = 0.0;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  ProximalOptions proximal;
  RowOptions rows;
  bool multiply_linear_by_learning_rate = false;
  double beta = 0.0;
  bool allow_zero_accumulator = false;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("learning_rate_power", learning_rate_power,
      {.help = "power of the learning rate, at most 0; 0 keeps the rate fixed"});
    v("initial_accumulator_value", initial_accumulator_value,
      {.help = "initial value of the sum of squares"});
    proximal.Visit(v);
    rows.Visit(v);
    v("multiply_linear_by_learning_rate", multiply_linear_by_learning_rate,
      {.help = "multiply the second slot by the learning rate, which may then be 0"});
    v("beta", beta, {.help = "beta of the paper"});
    v("allow_zero_accumulator", allow_zero_accumulator,
      {.help = "allow 0 as initial_accumulator_value"});
  }
};

// Yogi (Zaheer et al. 2018): m = beta1 m + (1 - beta1) g; v += (1 - beta2) sign(g^2 - v) g^2;
// rate = lr / (sqrt(v) + epsilon); w -= rate m, then ProximalOptions. Slots <table>/ProximalYogi
// (v) and <table>/ProximalYogi_1 (m).
struct ProximalYogiParameters {
  static constexpr std::string_view kType = "ProximalYogiParameters";
  static constexpr std::string_view kSummary =
      "Adam whose second average moves by a bounded step, with l1 and l2";
  double learning_rate = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-3;
  ProximalOptions proximal;
  double initial_accumulator_value = 1e-6;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp});
    v("beta1", beta1, {.help = kMeanHelp});
    v("beta2", beta2, {.help = kSquaresHelp});
    v("epsilon", epsilon, {.help = kRootEpsilonHelp});
    proximal.Visit(v);
    v("initial_accumulator_value", initial_accumulator_value, {.help = "value of v before step 0"});
    rows.Visit(v);
  }
};

// m = momentum m + g; w -= lr m, or lr (g + momentum m) with use_nesterov. Slot <table>/Momentum.
struct MomentumParameters {
  static constexpr std::string_view kType = "MomentumParameters";
  static constexpr std::string_view kSummary = "keeps a part of a row's last update";
  double learning_rate = 0.0;
  double momentum = 0.0;
  bool use_nesterov = false;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("momentum", momentum, {.help = kMomentumHelp, .required = true});
    v("use_nesterov", use_nesterov, {.help = kNesterovHelp});
    rows.Visit(v);
  }
};

// n += (1 - rho) (g^2 - n), starting from n = 0; m = momentum m + lr g / sqrt(n + epsilon); w -= m.
// Slots <table>/RMSProp/ms (n) and <table>/RMSProp/mom (m).
struct RMSPropParameters {
  static constexpr std::string_view kType = "RMSPropParameters";
  static constexpr std::string_view kSummary =
      "divides by the root of a moving average of squares that starts at 0";
  double learning_rate = 0.0;
  double rho = 0.0;
  double momentum = 0.0;
  double epsilon = 0.0;
  RowOptions rows;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kTableRateHelp, .required = true});
    v("rho", rho, {.help = "fraction of n to keep at each step", .required = true});
    v("momentum", momentum, {.help = kMomentumHelp, .required = true});
    v("epsilon", epsilon, {.help = "number added to n under the root", .required = true});
    rows.Visit(v);
  }
};

// Counts instead of optimizing: each row holds one number, the mean number of steps between the
// steps that look it up, whatever its gradient. d = step - h, where h is the last step that looked
// it up; c = min(d, max_delta); w = c if d >= outlier_threshold w, otherwise w (1 - tau) + c tau.
// The table's learning_rate_fn gives the step. A lookup returns (w / max_delta)^weight_exponent.
// Slot <table>/FrequencyEstimator (h).
struct FrequencyEstimatorParameters {
  static constexpr std::string_view kType = "FrequencyEstimatorParameters";
  static constexpr std::string_view kSummary =
      "estimates the number of steps between uses of a row";
  double tau = 0.0;
  double max_delta = 0.0;
  double outlier_threshold = 0.0;
  double weight_exponent = 0.0;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("tau", tau, {.help = "weight of a new distance in the mean, 0 to 1", .required = true});
    v("max_delta", max_delta, {.help = "largest distance to count", .required = true});
    v("outlier_threshold", outlier_threshold,
      {.help = "a distance of this many means replaces the mean", .required = true});
    v("weight_exponent", weight_exponent,
      {.help = "exponent of the mean relative to max_delta, which a lookup returns",
       .required = true});
  }
};

using TableOptimizer =
    std::variant<StochasticGradientDescentParameters, AdagradParameters, AdagradMomentumParameters,
                 ProximalAdagradParameters, AdamParameters, FtrlParameters, ProximalYogiParameters,
                 MomentumParameters, RMSPropParameters, FrequencyEstimatorParameters>;

// The arguments that the optimizers share; FrequencyEstimatorParameters has none of them and gets
// the defaults.
[[nodiscard]] RowOptions RowOptionsOf(const TableOptimizer& optimizer);
[[nodiscard]] double LearningRateOf(const TableOptimizer& optimizer);
[[nodiscard]] const Place& PlaceOf(const TableOptimizer& optimizer);
[[nodiscard]] std::string_view TypeOf(const TableOptimizer& optimizer);

// Throws Error kUsage, in TensorFlow's words and at the optimizer's place, for invalid arguments.
void CheckOptions(const TableOptimizer& optimizer);

}  // namespace tpuest::nn
