// Functions of TensorFlow that are formulas of others.

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/nn/formula/call.h"

namespace tpuest::nn {
namespace {

// In a condition's other branch nothing may be infinite: its gradient is multiplied by 0.
constexpr std::array kWritten = {
    WrittenFunction{"tan", "x", "sin(x) / cos(x)"},
    WrittenFunction{"sinh", "x", "(expm1(x) - expm1(-x)) / 2"},
    WrittenFunction{"cosh", "x", "(exp(x) + exp(-x)) / 2"},
    WrittenFunction{"asinh", "x",
                    "where(x < 0, -ones_like(x), ones_like(x)) * "
                    "log1p(where(x < 0, -x, x) + square(x) / (1 + sqrt(square(x) + 1)))"},
    WrittenFunction{"acosh", "x", "log1p(x - 1 + sqrt((x - 1) * (x + 1)))"},
    WrittenFunction{"atanh", "x", "(log1p(x) - log1p(-x)) / 2"},
    WrittenFunction{"erfc", "x", "1 - erf(x)"},
    WrittenFunction{"rint", "x", "round(x)"},
    WrittenFunction{"xlogy", "x, y", "x * log(where(x == 0, ones_like(y), y))"},
    WrittenFunction{"xlog1py", "x, y", "x * log1p(where(x == 0, zeros_like(y), y))"},
    WrittenFunction{"xdivy", "x, y", "x / where(x == 0, ones_like(y), y)"},
    WrittenFunction{"multiply_no_nan", "x, y",
                    "where(is_finite(x) | (y != 0), x, zeros_like(x)) * y"},
    WrittenFunction{"reciprocal_no_nan", "x",
                    "where(x == 0, zeros_like(x), 1 / where(x == 0, ones_like(x), x))"},
    WrittenFunction{"scalar_mul", "scalar, x", "scalar * x"},
    WrittenFunction{"accumulate_n", "inputs", "add_n(inputs)"},
    WrittenFunction{"zero_fraction", "value", "mean(cast(value == 0, float32))"},
    WrittenFunction{"count_nonzero", "input, axis=None, keepdims=False, dtype=int64",
                    "sum(cast(input != zeros_like(input), dtype), axis, keepdims)"},
    WrittenFunction{"clip_by_norm", "t, clip_norm, axes=None",
                    "t * clip_norm / maximum(sqrt(maximum(sum(square(t), axes, true), 1e-30)), "
                    "clip_norm)"},
    WrittenFunction{"moments", "x, axes, shift=None, keepdims=False",
                    "[mean(x, axes, keepdims), reduce_variance(x, axes, keepdims)]"},
    WrittenFunction{"batch_normalization", "x, mean, variance, offset, scale, variance_epsilon",
                    "(x - mean) * rsqrt(variance + variance_epsilon) * scale + offset"},
    WrittenFunction{"crelu", "features, axis=-1",
                    "concat([relu(features), relu(-features)], axis)"},
    WrittenFunction{"hard_sigmoid", "x", "clip_by_value(0.2 * x + 0.5, 0, 1)"},
    WrittenFunction{"mish", "x", "x * tanh(softplus(x))"},
    WrittenFunction{"log_poisson_loss", "targets, log_input",
                    "exp(log_input) - log_input * targets"},
    WrittenFunction{"weighted_cross_entropy_with_logits", "labels, logits, pos_weight",
                    "(1 - labels) * logits + (1 + (pos_weight - 1) * labels) * softplus(-logits)"},
    WrittenFunction{"embedding_lookup", "params, ids", "gather(params, ids)"},
};

}  // namespace

std::span<const WrittenFunction> WrittenFunctions() { return kWritten; }

const WrittenFunction* FindWritten(std::string_view name) {
  const auto found = std::find_if(kWritten.begin(), kWritten.end(),
                                  [name](const WrittenFunction& f) { return f.name == name; });
  return found == kWritten.end() ? nullptr : &*found;
}

}  // namespace tpuest::nn
