#pragma once
// Initial values of variables, under Keras' names, arguments and defaults.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

// tf.keras.initializers: each struct has the name of its class.
struct ZerosInitializer {
  static constexpr std::string_view kType = "zeros";
  static constexpr std::string_view kSummary = "all 0";
  static constexpr std::string_view kAliases[] = {"Zeros", "zeros_initializer"};
  template <class V>
  void Visit(V& /*v*/) {}
};

struct OnesInitializer {
  static constexpr std::string_view kType = "ones";
  static constexpr std::string_view kSummary = "all 1";
  static constexpr std::string_view kAliases[] = {"Ones", "ones_initializer"};
  template <class V>
  void Visit(V& /*v*/) {}
};

struct ConstantInitializer {
  static constexpr std::string_view kType = "constant";
  static constexpr std::string_view kSummary = "one value for all elements";
  static constexpr std::string_view kAliases[] = {"Constant", "constant_initializer"};
  double value = 0.0;
  template <class V>
  void Visit(V& v) {
    v("value", value, {.help = "value of every element"});
  }
};

struct RandomUniformInitializer {
  static constexpr std::string_view kType = "random_uniform";
  static constexpr std::string_view kSummary = "uniform between two values";
  static constexpr std::string_view kAliases[] = {"RandomUniform"};
  double minval = -0.05;
  double maxval = 0.05;
  template <class V>
  void Visit(V& v) {
    v("minval", minval, {.help = "lower bound"});
    v("maxval", maxval, {.help = "upper bound, excluded"});
  }
};

struct RandomNormalInitializer {
  static constexpr std::string_view kType = "random_normal";
  static constexpr std::string_view kSummary = "normal distribution";
  static constexpr std::string_view kAliases[] = {"RandomNormal"};
  double mean = 0.0;
  double stddev = 0.05;
  template <class V>
  void Visit(V& v) {
    v("mean", mean, {.help = "mean of the normal distribution"});
    v("stddev", stddev, {.help = "standard deviation of the normal distribution"});
  }
};

// Normal numbers; numbers beyond two standard deviations are redrawn.
struct TruncatedNormalInitializer {
  static constexpr std::string_view kType = "truncated_normal";
  static constexpr std::string_view kSummary =
      "normal distribution; values beyond two standard deviations are drawn again";
  static constexpr std::string_view kAliases[] = {"TruncatedNormal"};
  double mean = 0.0;
  double stddev = 0.05;
  template <class V>
  void Visit(V& v) {
    v("mean", mean, {.help = "mean of the normal distribution"});
    v("stddev", stddev,
      {.help = "standard deviation of the normal distribution before truncation"});
  }
};

// Variance scale / n, where n is the number of inputs of a unit (fan_in), of outputs (fan_out) or
// their mean (fan_avg).
struct VarianceScaling {
  static constexpr std::string_view kType = "variance_scaling";
  static constexpr std::string_view kSummary =
      "variance that depends on the numbers of inputs and outputs";
  static constexpr std::string_view kAliases[] = {"VarianceScaling"};
  double scale = 1.0;
  std::string mode = "fan_in";
  std::string distribution = "truncated_normal";
  template <class V>
  void Visit(V& v) {
    v("scale", scale, {.help = "the variance is scale / n"});
    v("mode", mode,
      {.help = "what n counts: `fan_in` inputs, `fan_out` outputs, `fan_avg` their mean",
       .values = {"fan_in", "fan_out", "fan_avg"}});
    v("distribution", distribution,
      {.help = "distribution to draw from",
       .values = {"truncated_normal", "untruncated_normal", "uniform"}});
  }
};

// The named cases of variance scaling: Glorot & Bengio 2010, He et al. 2015, LeCun et al. 1998.
struct GlorotUniform {
  static constexpr std::string_view kType = "glorot_uniform";
  static constexpr std::string_view kSummary = "uniform, variance 2 / (inputs + outputs)";
  static constexpr std::string_view kAliases[] = {"GlorotUniform", "xavier_uniform"};
  template <class V>
  void Visit(V& /*v*/) {}
};
struct GlorotNormal {
  static constexpr std::string_view kType = "glorot_normal";
  static constexpr std::string_view kSummary = "truncated normal, variance 2 / (inputs + outputs)";
  static constexpr std::string_view kAliases[] = {"GlorotNormal", "xavier_normal"};
  template <class V>
  void Visit(V& /*v*/) {}
};
struct HeUniform {
  static constexpr std::string_view kType = "he_uniform";
  static constexpr std::string_view kSummary = "uniform, variance 2 / inputs";
  static constexpr std::string_view kAliases[] = {"HeUniform"};
  template <class V>
  void Visit(V& /*v*/) {}
};
struct HeNormal {
  static constexpr std::string_view kType = "he_normal";
  static constexpr std::string_view kSummary = "truncated normal, variance 2 / inputs";
  static constexpr std::string_view kAliases[] = {"HeNormal"};
  template <class V>
  void Visit(V& /*v*/) {}
};
struct LecunUniform {
  static constexpr std::string_view kType = "lecun_uniform";
  static constexpr std::string_view kSummary = "uniform, variance 1 / inputs";
  static constexpr std::string_view kAliases[] = {"LecunUniform"};
  template <class V>
  void Visit(V& /*v*/) {}
};
struct LecunNormal {
  static constexpr std::string_view kType = "lecun_normal";
  static constexpr std::string_view kSummary = "truncated normal, variance 1 / inputs";
  static constexpr std::string_view kAliases[] = {"LecunNormal"};
  template <class V>
  void Visit(V& /*v*/) {}
};

using Initializer =
    std::variant<ZerosInitializer, OnesInitializer, ConstantInitializer, RandomUniformInitializer,
                 RandomNormalInitializer, TruncatedNormalInitializer, VarianceScaling,
                 GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal>;

// Builds the initial value of the variable `name`, of `shape` and `dtype`, as a function of the
// run's seed and the name. Call it outside any name scope: random nodes are named
// "<name>/Initializer/...". Throws Error kResource if memory cannot hold the value.
[[nodiscard]] Value InitialValue(Graph& graph, const std::string& name, DType dtype,
                                 const Shape& shape, const Initializer& initializer);

}  // namespace tpuest::nn
