#include "tests/core/kernels/isa/ulps.h"

namespace tpuest::ulps {
namespace {

using Real = long double;

Case Of(std::string name, Unary op, Real (*exact)(Real), double bound = 4) {
  return {.name = std::move(name),
          .run =
              [op](const KernelTable& table, DType dtype, const void* a, const void*, void* out,
                   size_t n) {
                const UnaryKernel kernel = table.unary(op, dtype);
                if (kernel != nullptr) kernel(a, out, n);
                return kernel != nullptr;
              },
          .exact = [exact](Real a, Real) { return exact(a); },
          .bound = bound};
}

Case Of(std::string name, Binary op, Real (*exact)(Real, Real),
        bool (*is_in_domain)(Real, Real) = nullptr) {
  return {.name = std::move(name),
          .run =
              [op](const KernelTable& table, DType dtype, const void* a, const void* b, void* out,
                   size_t n) {
                const BinaryKernel kernel = table.binary(op, dtype);
                if (kernel != nullptr) kernel(a, b, out, static_cast<int64_t>(n), 1, 1);
                return kernel != nullptr;
              },
          .exact = exact,
          .has_two = true,
          .is_in_domain = is_in_domain};
}

Case Of(std::string name, Activation activation, Real (*exact)(Real)) {
  return {.name = std::move(name),
          .run =
              [activation](const KernelTable& table, DType dtype, const void* a, const void*,
                           void* out, size_t n) {
                table.activation(activation, dtype)(a, out, n, 0.25F);
                return true;
              },
          .exact = [exact](Real a, Real) { return exact(a); }};
}

// The gradient as a function of (dy, x or y), as in TensorFlow's op.
Case GradOf(std::string name, Activation activation, Real (*exact)(Real, Real),
            bool (*is_in_domain)(Real, Real) = nullptr) {
  return {.name = std::move(name),
          .run =
              [activation](const KernelTable& table, DType dtype, const void* a, const void* b,
                           void* out, size_t n) {
                table.activation_grad(activation, dtype)(a, b, out, n, 0.25F);
                return true;
              },
          .exact = exact,
          .has_two = true,
          .is_in_domain = is_in_domain};
}

Real Logistic(Real x) { return 1 / (1 + std::exp(-x)); }
Real Softplus(Real x) { return std::max<Real>(x, 0) + std::log1p(std::exp(-std::abs(x))); }

// As in the kernel and in TensorFlow (Klambauer et al. 2017, appendix A1).
constexpr Real kSeluScale = 1.0507009873554804934193349852946L;
constexpr Real kSeluScaleAlpha = 1.7580993408473768599402175208123L;

// True if products of four such numbers fit into a float.
bool IsModerate(Real x) { return std::abs(x) > 1e-9L && std::abs(x) < 1e9L; }
bool AreModerate(Real a, Real b) { return IsModerate(a) && IsModerate(b); }

}  // namespace

std::vector<Case> Cases() {
  return {
      Of("exp", Unary::kExp, [](Real x) { return std::exp(x); }),
      Of("log", Unary::kLog, [](Real x) { return std::log(x); }),
      Of("log1p", Unary::kLog1p, [](Real x) { return std::log1p(x); }),
      Of("expm1", Unary::kExpm1, [](Real x) { return std::expm1(x); }),
      Of("sqrt", Unary::kSqrt, [](Real x) { return std::sqrt(x); }),
      Of("rsqrt", Unary::kRsqrt, [](Real x) { return 1 / std::sqrt(x); }),
      Of("square", Unary::kSquare, [](Real x) { return x * x; }),
      Of("reciprocal", Unary::kReciprocal, [](Real x) { return 1 / x; }),
      Of("sin", Unary::kSin, [](Real x) { return std::sin(x); }),
      Of("cos", Unary::kCos, [](Real x) { return std::cos(x); }),
      Of("sigmoid", Unary::kSigmoid, Logistic),
      Of("tanh", Unary::kTanh, [](Real x) { return std::tanh(x); }),
      Of(
          "erf", Unary::kErf, [](Real x) { return std::erf(x); }, 6),
      Of("elu", Activation::kElu, [](Real x) { return x < 0 ? std::expm1(x) : x; }),
      Of("selu", Activation::kSelu,
         [](Real x) { return x < 0 ? kSeluScaleAlpha * std::expm1(x) : kSeluScale * x; }),
      Of("leaky_relu", Activation::kLeakyRelu, [](Real x) { return x > 0 ? x : 0.25L * x; }),
      Of("softplus", Activation::kSoftplus, Softplus),
      Of("softsign", Activation::kSoftsign, [](Real x) { return x / (1 + std::abs(x)); }),
      Of("div", Binary::kDiv, [](Real a, Real b) { return a / b; }),
      Of("pow", Binary::kPow, [](Real a, Real b) { return std::pow(a, b); }),
      Of("floormod", Binary::kFloorMod,
         [](Real a, Real b) {
           const Real rest = std::fmod(a, b);
           return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
         }),
      Of("squared_difference", Binary::kSquaredDifference,
         [](Real a, Real b) { return (a - b) * (a - b); }),
      Of(
          "rsqrt_grad (y, dy)", Binary::kRsqrtGrad,
          [](Real y, Real dy) { return -0.5L * dy * (y * y * y); }, AreModerate),
      Of(
          "sqrt_grad (y, dy)", Binary::kSqrtGrad, [](Real y, Real dy) { return 0.5L * dy / y; },
          AreModerate),
      Of(
          "sigmoid_grad (y, dy)", Binary::kSigmoidGrad,
          [](Real y, Real dy) { return dy * y * (1 - y); },
          [](Real y, Real dy) { return AreModerate(y, dy) && y > 0 && y < 1; }),
      Of(
          "tanh_grad (y, dy)", Binary::kTanhGrad,
          [](Real y, Real dy) { return dy * ((1 - y) * (1 + y)); },
          [](Real y, Real dy) { return AreModerate(y, dy) && std::abs(y) <= 1; }),
      GradOf(
          "elu_grad (dy, y)", Activation::kElu,
          [](Real dy, Real y) { return y < 0 ? (y + 1) * dy : dy; },
          [](Real dy, Real y) { return AreModerate(dy, y) && y > -1; }),
      GradOf(
          "selu_grad (dy, y)", Activation::kSelu,
          [](Real dy, Real y) { return y < 0 ? dy * (y + kSeluScaleAlpha) : dy * kSeluScale; },
          [](Real dy, Real y) { return AreModerate(dy, y) && y > -1; }),
      GradOf(
          "softplus_grad (dy, x)", Activation::kSoftplus,
          [](Real dy, Real x) { return dy / (1 + std::exp(-x)); },
          [](Real dy, Real x) { return AreModerate(dy, x) && x > -87; }),
      GradOf(
          "softsign_grad (dy, x)", Activation::kSoftsign,
          [](Real dy, Real x) { return dy / ((1 + std::abs(x)) * (1 + std::abs(x))); },
          AreModerate),
  };
}

}  // namespace tpuest::ulps
