#pragma once
// Makes numbers for tests, and gives the tolerance of results.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernels/isa/cpu_isa.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// Values from -1 to 1 in an irregular order that is the same every time.
inline Tensor Numbers(DType dtype, Shape shape, int64_t seed = 0) {
  Tensor tensor(DType::kFloat, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i + seed) * 7919 % 211 - 105) / 105.0F;
  }
  return tensor.Cast(dtype);
}

inline Tensor Bytes(size_t bytes) { return {DType::kUint8, {static_cast<int64_t>(bytes)}}; }

// The largest difference, divided by the largest number.
inline double Distance(const Tensor& a, const Tensor& b) {
  Check(a.elements() == b.elements());
  double difference = 0;
  double largest = 1e-30;
  for (int64_t i = 0; i < a.elements(); ++i) {
    difference = std::max(difference, std::abs(a.AsDouble(i) - b.AsDouble(i)));
    largest = std::max(largest, std::abs(b.AsDouble(i)));
  }
  return difference / largest;
}

// The tolerance of results in a dtype against those in double. Types that oneDNN multiplies on this
// processor; bfloat16 needs AVX-512.
inline std::vector<DType> ProductDTypes() {
  std::vector<DType> dtypes = {DType::kFloat};
  if (ChosenCpuIsa().bfloat16) dtypes.push_back(DType::kBfloat16);
  return dtypes;
}

inline double Tolerance(DType dtype) { return dtype == DType::kBfloat16 ? 1e-2 : 1e-5; }

}  // namespace tpuest
