#pragma once
// Statistics of a tensor's values, for `tpuest inspect`.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor/tensor.h"

namespace tpuest::cli {

// The name of a dtype; "another type" for one that no tensor here can have (complex64, qint8).
[[nodiscard]] inline std::string_view TypeName(DType dtype) {
  return dtype == DType::kInvalid ? "another type" : NameOf(dtype);
}

struct TensorStatistics {
  // The finite values' number and statistics; without any, these are 0.
  int64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double std = 0;  // of the population: the sum of squares is divided by count
  double sum = 0;
  int64_t zeros = 0;
  int64_t nans = 0;
  int64_t infs = 0;  // infinities of both signs
};

// Computed in float64, from the first element to the last. nullopt for a dtype that holds no
// numbers, and for bool and half.
[[nodiscard]] std::optional<TensorStatistics> StatisticsOf(const Tensor& tensor);

// The distance of two tensors that have one shape and dtype.
struct TensorDistance {
  bool same_bits = false;
  // The largest |a - b| and |a - b| / max(|a|, |b|) of all elements; an element that is NaN or
  // infinite in one of them only is infinitely far. 0 if both are equal or both are NaN; 0 for
  // strings.
  double max_abs = 0;
  double max_relative = 0;
  int64_t differ = 0;  // elements that are not equal
};
// Both tensors have one shape and dtype.
[[nodiscard]] TensorDistance DistanceOf(const Tensor& a, const Tensor& b);

}  // namespace tpuest::cli
