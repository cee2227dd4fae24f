#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

// softmax(x)[c] = exp(x[c] - max) / sum, where sum = sum of exp(x - max), so no exponent is
// positive.
template <class T, class A>
struct Row {
  Row(const T* x, int64_t classes) : x_(x) {
    max_ = ConvertTo<A>(x[0]);
    for (int64_t c = 1; c < classes; ++c) max_ = std::max(max_, ConvertTo<A>(x[c]));
    for (int64_t c = 0; c < classes; ++c) sum_ += std::exp(ConvertTo<A>(x[c]) - max_);
    log_sum_ = std::log(sum_);
  }
  [[nodiscard]] A Exp(int64_t c) const { return std::exp(ConvertTo<A>(x_[c]) - max_); }
  [[nodiscard]] A Softmax(int64_t c) const { return Exp(c) / sum_; }
  [[nodiscard]] A LogSoftmax(int64_t c) const { return ConvertTo<A>(x_[c]) - max_ - log_sum_; }

 private:
  const T* x_;
  A max_;
  A sum_ = 0;
  A log_sum_;
};

template <class T, class A>
void Softmax(const void* x_raw, void* y_raw, int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T, A> row(static_cast<const T*>(x_raw) + r * classes, classes);
    T* const y = static_cast<T*>(y_raw) + r * classes;
    for (int64_t c = 0; c < classes; ++c) y[c] = ConvertTo<T>(row.Softmax(c));
  }
}

template <class T, class A>
void LogSoftmax(const void* x_raw, void* y_raw, int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T, A> row(static_cast<const T*>(x_raw) + r * classes, classes);
    T* const y = static_cast<T*>(y_raw) + r * classes;
    for (int64_t c = 0; c < classes; ++c) y[c] = ConvertTo<T>(row.LogSoftmax(c));
  }
}

template <class T, class A>
void SparseLoss(const void* x_raw, const void* labels, bool labels_are_int64, void* loss_raw,
                void* dx_raw, int64_t rows, int64_t classes) {
  T* const loss = static_cast<T*>(loss_raw);
  for (int64_t r = 0; r < rows; ++r) {
    T* const dx = static_cast<T*>(dx_raw) + r * classes;
    const int64_t label = labels_are_int64 ? static_cast<const int64_t*>(labels)[r]
                                           : static_cast<const int32_t*>(labels)[r];
    if (label < 0 || label >= classes) {
      loss[r] = ConvertTo<T>(std::numeric_limits<A>::quiet_NaN());
      std::fill_n(dx, classes, loss[r]);
      continue;
    }
    const Row<T, A> row(static_cast<const T*>(x_raw) + r * classes, classes);
    loss[r] = ConvertTo<T>(-row.LogSoftmax(label));
    for (int64_t c = 0; c < classes; ++c) {
      dx[c] = ConvertTo<T>(row.Softmax(c) - static_cast<A>(c == label));
    }
  }
}

template <class T, class A>
void Loss(const void* x_raw, int64_t x_step, const void* labels_raw, int64_t labels_step,
          void* loss_raw, void* dx_raw, int64_t rows, int64_t classes) {
  T* const loss = static_cast<T*>(loss_raw);
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T, A> row(static_cast<const T*>(x_raw) + r * x_step, classes);
    const T* const labels = static_cast<const T*>(labels_raw) + r * labels_step;
    T* const dx = static_cast<T*>(dx_raw) + r * classes;
    A sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const A label = ConvertTo<A>(labels[c]);
      if (label != A(0)) sum -= label * row.LogSoftmax(c);
    }
    loss[r] = ConvertTo<T>(sum);
    for (int64_t c = 0; c < classes; ++c) {
      dx[c] = ConvertTo<T>(row.Softmax(c) - ConvertTo<A>(labels[c]));
    }
  }
}

template <class T, class A>
constexpr SoftmaxKernels kSoftmaxKernels = {Softmax<T, A>, LogSoftmax<T, A>, SparseLoss<T, A>,
                                            Loss<T, A>};

}  // namespace

SoftmaxKernels FindSoftmax(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return kSoftmaxKernels<bfloat16, float>;
    case DType::kFloat:
      return kSoftmaxKernels<float, float>;
    case DType::kDouble:
      return kSoftmaxKernels<double, double>;
    default:
      return {};
  }
}

}  // namespace tpuest::TPUEST_ISA
