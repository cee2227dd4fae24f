#include "core/nn/activations.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "core/base/text.h"
#include "core/ops/activation.h"
#include "core/ops/elementwise.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

// gelu: x Phi(x), by the error function (Hendrycks & Gimpel 2016).
Value Gelu(Value x) {
  const Value phi = ops::AddV2(ops::Erf(ops::Mul(x, 1 / std::numbers::sqrt2)), 1.0);
  return ops::Mul(ops::Mul(x, 0.5), phi);
}

// Keras 2's: 0.2 x + 0.5, from 0 to 1.
Value HardSigmoid(Value x) { return ops::ClipByValue(ops::AddV2(ops::Mul(x, 0.2), 0.5), 0.0, 1.0); }

struct Activation {
  std::string_view name;
  Value (*apply)(Value);
};

constexpr std::array kActivations = {
    Activation{"linear", [](Value x) { return x; }},
    Activation{"relu", [](Value x) { return ops::Relu(x); }},
    Activation{"relu6", [](Value x) { return ops::Relu6(x); }},
    Activation{"elu", [](Value x) { return ops::Elu(x); }},
    Activation{"selu", [](Value x) { return ops::Selu(x); }},
    Activation{"leaky_relu", [](Value x) { return ops::LeakyRelu(x); }},
    Activation{"sigmoid", [](Value x) { return ops::Sigmoid(x); }},
    Activation{"tanh", [](Value x) { return ops::Tanh(x); }},
    Activation{"softmax", [](Value x) { return ops::Softmax(x); }},
    Activation{"softplus", [](Value x) { return ops::Softplus(x); }},
    Activation{"softsign", [](Value x) { return ops::Softsign(x); }},
    Activation{"swish", [](Value x) { return ops::Mul(x, ops::Sigmoid(x)); }},
    Activation{"silu", [](Value x) { return ops::Mul(x, ops::Sigmoid(x)); }},
    Activation{"gelu", Gelu},
    Activation{"exponential", [](Value x) { return ops::Exp(x); }},
    Activation{"hard_sigmoid", HardSigmoid},
    Activation{"mish", [](Value x) { return ops::Mul(x, ops::Tanh(ops::Softplus(x))); }},
};

}  // namespace

const std::vector<std::string_view>& ActivationNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Activation& activation : kActivations) list.push_back(activation.name);
    return list;
  }();
  return names;
}

Value Activate(std::string_view activation, Value x) {
  for (const Activation& known : kActivations) {
    if (known.name == activation) return known.apply(x);
  }
  const std::vector<std::string> names(ActivationNames().begin(), ActivationNames().end());
  const auto nearest = Nearest(activation, names);
  throw Error(
      Code::kUsage, fmt::format("unknown activation '{}'", activation),
      nearest ? fmt::format("did you mean '{}'?", *nearest) : "it is one of " + Join(names, ", "));
}

}  // namespace tpuest::nn
