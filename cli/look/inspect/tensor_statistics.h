#pragma once
// What the values of a tensor look like, for `tpuest inspect`.

#include <cstdint>
#include <optional>

#include "core/tensor/tensor.h"

namespace tpuest::cli {

struct TensorStatistics {
  // Of the finite values; `count` is how many they are, and without any the rest is 0.
  int64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double std = 0;  // of the population: divided by count
  double sum = 0;
  int64_t zeros = 0;
  int64_t nans = 0;
  int64_t infs = 0;  // of both signs
};

// nullopt for a dtype that holds no numbers, and for bool and half.
[[nodiscard]] std::optional<TensorStatistics> StatisticsOf(const Tensor& tensor);

// How far two tensors of one shape and dtype are apart.
struct TensorDistance {
  bool same_bits = false;
  // Over all elements, |a - b| and |a - b| / max(|a|, |b|); an element that is NaN or infinite in
  // one of them only is infinitely far. 0 where both are equal, NaN and NaN too; 0 for strings.
  double max_abs = 0;
  double max_relative = 0;
  int64_t differ = 0;  // elements
};
[[nodiscard]] TensorDistance DistanceOf(const Tensor& a, const Tensor& b);

}  // namespace tpuest::cli
