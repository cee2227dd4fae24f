#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/kernels/isa/isa_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tpuest::TPUEST_ISA {
namespace {

template <class T>
void ApplyGradientDescent(T* __restrict var, const T* __restrict grad, int64_t n, T lr) {
  for (int64_t i = 0; i < n; ++i) var[i] -= grad[i] * lr;
}

template <class T>
void ApplyMomentum(T* __restrict var, T* __restrict accum, const T* __restrict grad, int64_t n,
                   const MomentumRates<T>& rates) {
  const auto [lr, momentum, use_nesterov] = rates;
  if (use_nesterov) {
    for (int64_t i = 0; i < n; ++i) {
      accum[i] = accum[i] * momentum + grad[i];
      var[i] -= grad[i] * lr + accum[i] * momentum * lr;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      accum[i] = accum[i] * momentum + grad[i];
      var[i] -= accum[i] * lr;
    }
  }
}

template <class T>
void ApplyKerasMomentum(T* __restrict var, T* __restrict accum, const T* __restrict grad, int64_t n,
                        const MomentumRates<T>& rates) {
  const auto [lr, momentum, use_nesterov] = rates;
  if (use_nesterov) {
    for (int64_t i = 0; i < n; ++i) {
      accum[i] = accum[i] * momentum - grad[i] * lr;
      var[i] += accum[i] * momentum - grad[i] * lr;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      accum[i] = accum[i] * momentum - grad[i] * lr;
      var[i] += accum[i];
    }
  }
}

template <class T>
void ApplyAdam(T* __restrict var, T* __restrict m, T* __restrict v, const T* __restrict grad,
               int64_t n, const AdamRates<T>& rates) {
  const auto [rate, beta1, beta2, epsilon, use_nesterov] = rates;
  // The update uses m, or with Nesterov's momentum m one step ahead: beta1 m + (1 - beta1) g (Dozat
  // 2016).
  const T of_m = use_nesterov ? beta1 : T(1);
  const T of_grad = use_nesterov ? T(1) - beta1 : T(0);
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    m[i] += (g - m[i]) * (T(1) - beta1);
    v[i] += (g * g - v[i]) * (T(1) - beta2);
    var[i] -= (g * of_grad + of_m * m[i]) * rate / (std::sqrt(v[i]) + epsilon);
  }
}

template <class T>
void ApplyRMSProp(T* __restrict var, T* __restrict ms, T* __restrict mom, const T* __restrict grad,
                  int64_t n, const RMSPropRates<T>& rates) {
  const auto [lr, rho, momentum, epsilon] = rates;
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    ms[i] += (g * g - ms[i]) * (T(1) - rho);
    mom[i] = mom[i] * momentum + g * lr / std::sqrt(ms[i] + epsilon);
    var[i] -= mom[i];
  }
}

template <class T>
void ApplyCenteredRMSProp(T* __restrict var, T* __restrict mg, T* __restrict ms, T* __restrict mom,
                          const T* __restrict grad, int64_t n, const RMSPropRates<T>& rates) {
  const auto [lr, rho, momentum, epsilon] = rates;
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    ms[i] += (g * g - ms[i]) * (T(1) - rho);
    mg[i] += (g - mg[i]) * (T(1) - rho);
    mom[i] = mom[i] * momentum + g * lr / std::sqrt(ms[i] - mg[i] * mg[i] + epsilon);
    var[i] -= mom[i];
  }
}

// While this object lives, the processor treats subnormal numbers as 0. Each subnormal number takes
// as long as a hundred others, and squares of a decaying mean are often subnormal. Use it only for
// code that writes no result.
class WithoutSubnormals {
 public:
  WithoutSubnormals() { Set(before_ | kFlushes); }
  ~WithoutSubnormals() { Set(before_); }
  WithoutSubnormals(const WithoutSubnormals&) = delete;
  WithoutSubnormals& operator=(const WithoutSubnormals&) = delete;

 private:
  static constexpr unsigned kFlushes = 0x8040;  // flags for results and for operands
#if defined(__x86_64__)
  static unsigned Get() { return _mm_getcsr(); }
  static void Set(unsigned control) { _mm_setcsr(control); }
#else
  static unsigned Get() { return 0; }
  static void Set(unsigned /*control*/) {}
#endif
  const unsigned before_ = Get();
};

// Counts without a branch, so that the loop vectorises. NaN does not count as large enough.
template <class T>
bool HasVariance(const T* __restrict mg, const T* __restrict ms, const T* __restrict grad,
                 int64_t n, const RMSPropRates<T>& rates, const RootBounds<T>& bounds) {
  using Count = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const WithoutSubnormals faster;
  const T rest = T(1) - rates.rho;
  Count enough = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    const T next_ms = ms[i] + (g * g - ms[i]) * rest;
    const T next_mg = mg[i] + (g - mg[i]) * rest;
    const T variance = next_ms - next_mg * next_mg + rates.epsilon;
    enough += variance >= (next_ms + rates.epsilon) * bounds.part + bounds.least ? 1 : 0;
  }
  return enough == static_cast<Count>(n);
}

template <class T>
void ApplyAdagrad(T* __restrict var, T* __restrict accum, const T* __restrict grad, int64_t n,
                  const AdagradRates<T>& rates) {
  const auto [lr, epsilon, has_epsilon, update_slots] = rates;
  const T added = has_epsilon ? epsilon : T(0);
  const T of_square = update_slots ? T(1) : T(0);
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    accum[i] += of_square * (g * g);
    var[i] -= g * lr / (std::sqrt(accum[i]) + added);
  }
}

template <class T>
struct SquareRoot {
  T operator()(T accum) const { return std::sqrt(accum); }
};
template <class T>
struct Power {
  T exponent;
  T operator()(T accum) const { return std::pow(accum, exponent); }
};

// The slot holds linear, or linear times lr; `unit` is the factor of a gradient in it.
template <class T, class Root>
void FtrlLoop(T* __restrict var, T* __restrict accum, T* __restrict linear,
              const T* __restrict grad, int64_t n, const FtrlRates<T>& rates, Root root) {
  const T unit = rates.multiply_linear_by_lr ? rates.lr : T(1);
  const T root_scale = rates.multiply_linear_by_lr ? T(1) : T(1) / rates.lr;
  const T l1 = rates.l1 * unit;
  const T l2 = T(2) * rates.l2 * unit;
  const T shrinkage = T(2) * rates.l2_shrinkage;
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    const T next = accum[i] + g * g;
    const T next_root = root(next);
    const T sum = linear[i] + (g + shrinkage * var[i]) * unit -
                  (next_root - root(accum[i])) * root_scale * var[i];
    const T shrunk = (sum > T(0) ? l1 : -l1) - sum;
    var[i] = std::abs(sum) > l1 ? shrunk / (next_root * root_scale + l2) : T(0);
    linear[i] = sum;
    accum[i] = next;
  }
}

template <class T>
void ApplyFtrl(T* var, T* accum, T* linear, const T* grad, int64_t n, const FtrlRates<T>& rates) {
  if (rates.lr_power == T(-0.5)) {
    FtrlLoop(var, accum, linear, grad, n, rates, SquareRoot<T>());
  } else {
    FtrlLoop(var, accum, linear, grad, n, rates, Power<T>{-rates.lr_power});
  }
}

template <class T>
constexpr OptimizerKernels<T> kOptimizers = {
    ApplyGradientDescent<T>, ApplyMomentum<T>, ApplyKerasMomentum<T>, ApplyAdam<T>, ApplyRMSProp<T>,
    ApplyCenteredRMSProp<T>, HasVariance<T>,   ApplyAdagrad<T>,       ApplyFtrl<T>};

}  // namespace

const OptimizerKernels<float>& FloatOptimizers() { return kOptimizers<float>; }
const OptimizerKernels<double>& DoubleOptimizers() { return kOptimizers<double>; }

}  // namespace tpuest::TPUEST_ISA
