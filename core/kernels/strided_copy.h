#pragma once
// Moves elements of any type between two strided views of one shape. Transposes, slices,
// concatenations, padding and tiling are such moves.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace tpuest {

// Bytes per element in a buffer; strings are string_views.
[[nodiscard]] size_t ElementBytes(DType dtype);

// Row-major strides, in elements.
[[nodiscard]] std::vector<int64_t> StridesOf(const Shape& shape);

class StridedCopy {
 public:
  // A view of `dims` elements on each side. Strides and offsets are in elements, of any sign; a
  // source stride of 0 repeats the source.
  struct View {
    std::vector<int64_t> strides;
    int64_t offset = 0;
  };
  StridedCopy(const std::vector<int64_t>& dims, View from, View to, size_t element_bytes);

  void Run(const void* from, void* to) const;

 private:
  struct Dim {
    int64_t size, from, to;  // strides in bytes
  };
  void Inner(const char* from, char* to) const;

  std::vector<Dim> outer_;
  Dim inner_{1, 0, 0};
  int64_t runs_ = 1;
  int64_t from_offset_ = 0;
  int64_t to_offset_ = 0;
  size_t element_bytes_;
};

}  // namespace tpuest
