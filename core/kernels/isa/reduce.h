#pragma once
// Reductions over some axes of a contiguous tensor, in one fixed order.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace tpuest {

enum class Reduction { kSum, kMax, kMin, kProd, kAll, kAny };

// A reduction for one shape. Merges dimensions into groups that are alternately kept and reduced.
class Reduce {
 public:
  // `reduced[axis]` tells which axes are reduced. `in` and `out` are dtypes of memory: equal, or
  // bfloat16 and float. Sums and products of floating types are computed in double, of integers in
  // 64 bits; `divisor` divides the result (a mean). Check fails if the dtype has no such reduction.
  Reduce(Reduction reduction, const Shape& shape, const std::vector<bool>& reduced, DType in,
         DType out, int64_t divisor = 1);

  // Bytes of scratch memory that Run needs.
  [[nodiscard]] size_t ScratchBytes() const;
  void Run(const void* in, void* out, void* scratch) const;

  struct Group {
    int64_t size = 1;
    bool reduced = false;
    int64_t out_stride = 0;  // in elements of the result; 0 where reduced
  };
  // The plan that the loops follow.
  struct Layout {
    std::vector<Group> outer;  // outermost first
    Group inner;
    int64_t runs = 1;  // product of the outer sizes
    int64_t results = 1;
    int64_t divisor = 1;
  };
  using Loop = void (*)(const Layout& layout, const void* in, void* out, void* scratch);

 private:
  Layout layout_;
  Loop loop_ = nullptr;
};

}  // namespace tpuest
