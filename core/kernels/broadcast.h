#pragma once
// NumPy broadcasting as loops: an output is cut into runs along its last (merged) dimension; within
// a run each input advances by one element or stays.

#include <array>
#include <cstdint>
#include <vector>

#include "core/tensor/shape.h"

namespace tpuest {

// Loops over `out` and up to three inputs that broadcast to it. Shapes are fully known.
class Broadcast {
 public:
  static constexpr int kMaxInputs = 3;
  using Offsets = std::array<int64_t, kMaxInputs>;

  Broadcast(const Shape& out, const std::vector<Shape>& inputs);

  // Elements per run.
  [[nodiscard]] int64_t run() const { return run_; }
  // 0 or 1: the distance in input i between neighbouring elements of a run.
  [[nodiscard]] int64_t step(int input) const { return steps_[static_cast<size_t>(input)]; }

  // Calls fn(offset of the run in out, offsets of its start in the inputs) for each run, in the
  // order of memory.
  template <class Fn>
  void ForEachRun(Fn&& fn) const {
    std::array<int64_t, kMaxDims> at{};
    Offsets offsets{};
    for (int64_t r = 0; r < runs_; ++r) {
      fn(r * run_, offsets);
      for (size_t d = outer_; d-- > 0;) {
        for (size_t i = 0; i < kMaxInputs; ++i) offsets[i] += strides_[d][i];
        if (++at[d] < dims_[d]) break;
        for (size_t i = 0; i < kMaxInputs; ++i) offsets[i] -= strides_[d][i] * dims_[d];
        at[d] = 0;
      }
    }
  }

 private:
  static constexpr size_t kMaxDims = 16;
  std::array<int64_t, kMaxDims> dims_{};     // dimensions outside a run
  std::array<Offsets, kMaxDims> strides_{};  // strides of the inputs along dims_
  size_t outer_ = 0;
  int64_t runs_ = 1;
  int64_t run_ = 1;
  Offsets steps_{};
};

}  // namespace tpuest
