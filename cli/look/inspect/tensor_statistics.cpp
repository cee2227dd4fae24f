#include "cli/look/inspect/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tpuest::cli {
namespace {

bool HoldsNumbers(DType dtype) {
  return SizeOf(dtype) > 0 && dtype != DType::kBool && dtype != DType::kHalf;
}

// Calls fn(i, value as double) for each element.
template <class Fn>
void ForEach(const Tensor& tensor, const Fn& fn) {
  DispatchDType(tensor.dtype(), [&]<class T>() {
    const T* const data = tensor.data<T>();
    for (int64_t i = 0; i < tensor.elements(); ++i) fn(i, ConvertTo<double>(data[i]));
  });
}

double Apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  return std::abs(a - b);
}

void Compare(const Tensor& a, const Tensor& b, TensorDistance& distance) {
  std::vector<double> first(static_cast<size_t>(a.elements()));
  ForEach(a, [&](int64_t i, double value) { first[static_cast<size_t>(i)] = value; });
  ForEach(b, [&](int64_t i, double value) {
    const double other = first[static_cast<size_t>(i)];
    const double apart = Apart(other, value);
    if (apart == 0) return;
    ++distance.differ;
    distance.max_abs = std::max(distance.max_abs, apart);
    const double scale = std::max(std::abs(other), std::abs(value));
    distance.max_relative =
        std::max(distance.max_relative, std::isfinite(apart) ? apart / scale : apart);
  });
}

void CompareStrings(const Tensor& a, const Tensor& b, TensorDistance& distance) {
  for (size_t i = 0; i < a.strings().size(); ++i) {
    if (a.strings()[i] != b.strings()[i]) ++distance.differ;
  }
}

}  // namespace

std::optional<TensorStatistics> StatisticsOf(const Tensor& tensor) {
  if (!HoldsNumbers(tensor.dtype())) return std::nullopt;
  TensorStatistics s;
  s.min = std::numeric_limits<double>::infinity();
  s.max = -s.min;
  ForEach(tensor, [&](int64_t, double value) {
    if (std::isnan(value)) {
      ++s.nans;
    } else if (std::isinf(value)) {
      ++s.infs;
    } else {
      ++s.count;
      s.zeros += value == 0 ? 1 : 0;
      s.min = std::min(s.min, value);
      s.max = std::max(s.max, value);
      s.sum += value;
    }
  });
  if (s.count == 0) {
    s.min = s.max = 0;
    return s;
  }
  s.mean = s.sum / static_cast<double>(s.count);
  double squares = 0;
  ForEach(tensor, [&](int64_t, double value) {
    if (std::isfinite(value)) squares += (value - s.mean) * (value - s.mean);
  });
  s.std = std::sqrt(squares / static_cast<double>(s.count));
  return s;
}

TensorDistance DistanceOf(const Tensor& a, const Tensor& b) {
  TensorDistance distance;
  distance.same_bits = SameBits(a, b);
  if (distance.same_bits) return distance;
  if (a.dtype() == DType::kString) {
    CompareStrings(a, b, distance);
  } else {
    Compare(a, b, distance);
  }
  return distance;
}

}  // namespace tpuest::cli
