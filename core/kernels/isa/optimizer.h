#pragma once
// One step of an optimizer on n contiguous elements: the formulas of TensorFlow's
// kernels/training_ops.cc, each in one pass over var, its slots and grad, which do not overlap. The
// order of operations is part of the bits. T is float or double.

// var -= lr grad.

#include <cstdint>

namespace tpuest {

template <class T>
void ApplyGradientDescent(T* var, const T* grad, int64_t n, T lr);

template <class T>
struct MomentumRates {
  T lr, momentum;
  bool use_nesterov;
};
// accum = momentum accum + grad; var -= lr accum, or with use_nesterov
// var -= lr grad + lr momentum accum (Sutskever et al. 2013).
template <class T>
void ApplyMomentum(T* var, T* accum, const T* grad, int64_t n, const MomentumRates<T>& rates);

// Keras' form, where the rate is part of accum: accum = momentum accum - lr grad; var += accum, or
// with use_nesterov var += momentum accum - lr grad.
template <class T>
void ApplyKerasMomentum(T* var, T* accum, const T* grad, int64_t n, const MomentumRates<T>& rates);

// `rate` is lr sqrt(1 - beta2^t) / (1 - beta1^t).
template <class T>
struct AdamRates {
  T rate, beta1, beta2, epsilon;
  bool use_nesterov;
};
// m += (grad - m)(1 - beta1); v += (grad^2 - v)(1 - beta2); var -= rate m / (sqrt(v) + epsilon)
// (Kingma and Ba 2014, section 2's efficient order). With use_nesterov, beta1 m + (1 - beta1) grad
// replaces m in the last formula (Dozat 2016).
template <class T>
void ApplyAdam(T* var, T* m, T* v, const T* grad, int64_t n, const AdamRates<T>& rates);

template <class T>
struct RMSPropRates {
  T lr, rho, momentum, epsilon;
};
// ms += (grad^2 - ms)(1 - rho); mom = momentum mom + lr grad / sqrt(ms + epsilon); var -= mom
// (Tieleman and Hinton 2012). The centered form also computes mg += (grad - mg)(1 - rho) and
// divides by sqrt(ms - mg^2 + epsilon) (Graves 2013).
template <class T>
void ApplyRMSProp(T* var, T* ms, T* mom, const T* grad, int64_t n, const RMSPropRates<T>& rates);
template <class T>
void ApplyCenteredRMSProp(T* var, T* mg, T* ms, T* mom, const T* grad, int64_t n,
                          const RMSPropRates<T>& rates);

// True if in the next update of the centered form ms - mg^2 + epsilon will be at least `least` and
// at least `part` of ms + epsilon in every element. Then no rounding error can make it too small to
// divide by its root.
template <class T>
struct RootBounds {
  T least, part;
};
template <class T>
bool HasVariance(const T* mg, const T* ms, const T* grad, int64_t n, const RMSPropRates<T>& rates,
                 const RootBounds<T>& bounds);

// accum += grad^2 if update_slots; var -= lr grad / sqrt(accum), or / (sqrt(accum) + epsilon) if
// has_epsilon (Duchi et al. 2011).
template <class T>
struct AdagradRates {
  T lr, epsilon;
  bool has_epsilon, update_slots;
};
template <class T>
void ApplyAdagrad(T* var, T* accum, const T* grad, int64_t n, const AdagradRates<T>& rates);

// FTRL-Proximal (McMahan et al. 2013) with TensorFlow's shrinkage (FtrlV2): with
// next = accum + grad^2, p = -lr_power and d = (next^p - accum^p) / lr,
//   linear += grad + 2 l2_shrinkage var - d var;  accum = next;
//   var = (sign(linear) l1 - linear) / (next^p / lr + 2 l2) where |linear| > l1, else 0.
// multiply_linear_by_lr keeps linear times lr in the slot.
template <class T>
struct FtrlRates {
  T lr, l1, l2, l2_shrinkage, lr_power;
  bool multiply_linear_by_lr;
};
template <class T>
void ApplyFtrl(T* var, T* accum, T* linear, const T* grad, int64_t n, const FtrlRates<T>& rates);

}  // namespace tpuest
