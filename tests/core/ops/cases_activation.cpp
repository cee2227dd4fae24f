// Non-linearities and their gradient ops. The values at seven points are TensorFlow's.

#include "core/ops/activation.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor Seven(const std::vector<float>& values) { return Floats({7}, values); }
Tensor Points() { return Seven({-30, -2, -0.5F, 0, 0.5F, 2, 30}); }
Tensor Dys() { return Seven({1, 2, 3, 4, 5, 6, 7}); }

// An op of `arguments` inputs by its name, in the dtype of the check.
BuildFn Of(const std::string& op, const Attrs& attrs) {
  return [op, attrs](Graph& graph, const In& in) { return Built{{graph.Add(op, in, attrs)}, {}}; };
}

OpCase Known(const std::string& op, const std::vector<Tensor>& inputs,
             const std::vector<float>& expected, const Attrs& attrs = {}) {
  return {.op = op,
          .claim = "at seven points",
          .inputs = inputs,
          .build = Of(op, attrs),
          .expected = {Seven(expected)},
          .tolerance = 2e-7,
          .batch = {},
          .numeric_gradient = false};
}

// 37 numbers, so that there are whole vectors and a remainder, with kinks between the numbers.
OpCase Smooth(const std::string& op, bool is_gradient, const Attrs& attrs = {}) {
  const Tensor x = Wave({37}, 4, 2.5F);
  OpCase op_case{.op = op, .inputs = {x}, .build = Of(op, attrs), .batch = {0}};
  if (is_gradient) {
    op_case.inputs = {Wave({37}, 1, 0.2F), x};
    op_case.batch = {0, 1};
  }
  return op_case;
}

std::vector<OpCase> ForwardCases() {
  return {
      Known("Relu", {Points()}, {0, 0, 0, 0, 0.5F, 2, 30}),
      Known("Relu6", {Points()}, {0, 0, 0, 0, 0.5F, 2, 6}),
      Known("Elu", {Points()}, {-1, -0.864664733F, -0.393469334F, 0, 0.5F, 2, 30}),
      Known("Selu", {Points()},
            {-1.75809932F, -1.52016652F, -0.691758156F, 0, 0.525350511F, 2.10140204F, 31.5210304F}),
      Known("Softplus", {Points()},
            {9.35762291e-14F, 0.126928002F, 0.474076986F, 0.693147182F, 0.974076986F, 2.12692809F,
             30}),
      Known("Softsign", {Points()},
            {-0.967741907F, -0.666666687F, -0.333333343F, 0, 0.333333343F, 0.666666687F,
             0.967741907F}),
      Known("LeakyRelu", {Points()}, {-6, -0.4F, -0.1F, 0, 0.5F, 2, 30}),
      Known("LeakyRelu", {Points()}, {-15, -1, -0.25F, 0, 0.5F, 2, 30}, {{"alpha", 0.5F}}),
  };
}

// The gradients of Elu and Selu read the result, all others the argument.
std::vector<OpCase> GradientCases() {
  return {
      Known("ReluGrad", {Dys(), Points()}, {0, 0, 0, 0, 5, 6, 7}),
      Known("Relu6Grad", {Dys(), Points()}, {0, 0, 0, 0, 5, 6, 0}),
      Known("EluGrad", {Dys(), Seven({-1, -0.864664733F, -0.393469334F, 0, 0.5F, 2, 30})},
            {0, 0.270670533F, 1.819592F, 4, 5, 6, 7}),
      Known("SeluGrad", {Dys(), Seven({-1.75809932F, -1.52016652F, -0.691758156F, 0, 0.5F, 2, 30})},
            {0, 0.475865602F, 3.19902349F, 4.20280409F, 5.25350523F, 6.30420589F, 7.35490704F}),
      Known("SoftplusGrad", {Dys(), Points()},
            {9.35762359e-14F, 0.238405839F, 1.132622F, 2, 3.11229658F, 5.28478241F, 7}),
      Known("SoftsignGrad", {Dys(), Points()},
            {0.00104058278F, 0.222222224F, 1.33333337F, 4, 2.22222233F, 0.666666687F,
             0.00728407921F}),
      Known("LeakyReluGrad", {Dys(), Points()}, {0.2F, 0.4F, 0.6F, 0.8F, 5, 6, 7}),
  };
}

std::vector<OpCase> SmoothCases() {
  std::vector<OpCase> cases;
  for (const char* const op : {"Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign"}) {
    cases.push_back(Smooth(op, false));
    cases.push_back(Smooth(std::string(op) + "Grad", true));
  }
  const Attrs alpha = {{"alpha", 0.3F}};
  cases.push_back(Smooth("LeakyRelu", false, alpha));
  cases.push_back(Smooth("LeakyReluGrad", true, alpha));
  return cases;
}

}  // namespace

std::vector<OpCase> ActivationCases() {
  std::vector<OpCase> all = SmoothCases();
  for (const auto cases : {ForwardCases, GradientCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
