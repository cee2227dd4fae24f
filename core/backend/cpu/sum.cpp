#include "core/backend/cpu/sum.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace tpuest {
namespace {

constexpr int64_t kChunk = 2048;  // elements that stay in the first cache while the tree is walked
// Each level halves the count, so 24 levels suffice for 2^24 arrays. A level keeps one chunk on the
// stack.
constexpr int kMaxDepth = 24;

// The type that elements are added in: a bfloat16 sum is rounded once, at the end.
template <class T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<bfloat16> {
  using type = float;
};

template <class T>
class ChunkTree {
 public:
  using Sum = typename Accumulator<T>::type;
  ChunkTree(const std::function<const void*(int)>& array, int64_t begin, int64_t size)
      : array_(array), begin_(begin), size_(size) {}

  // to[0..size) = sum of arrays first .. first + count - 1. Left is the largest power of two below
  // count, which is the tree of core/sharding/tree.h. Not inlined: the compiler would inline it
  // into itself to some depth, which takes 15 s.
  [[gnu::noinline]] void Add(int first, int count, Sum* to, int depth) {
    Check(depth < kMaxDepth);
    if (count == 1) {
      const T* const from = At(first);
      for (int64_t i = 0; i < size_; ++i) to[i] = ConvertTo<Sum>(from[i]);
      return;
    }
    if (count == 2) {
      const T* const a = At(first);
      const T* const b = At(first + 1);
      for (int64_t i = 0; i < size_; ++i) to[i] = ConvertTo<Sum>(a[i]) + ConvertTo<Sum>(b[i]);
      return;
    }
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
    Add(first, left, to, depth + 1);
    Sum right[kChunk];
    Add(first + left, count - left, right, depth + 1);
    for (int64_t i = 0; i < size_; ++i) to[i] += right[i];
  }

 private:
  const T* At(int i) const { return static_cast<const T*>(array_(i)) + begin_; }

  const std::function<const void*(int)>& array_;
  int64_t begin_;
  int64_t size_;
};

// Walks the tree chunk by chunk. A chunk is read whole before it is written, so dst may be one of
// the arrays.
template <class T, class To = T>
void SumTyped(int count, const std::function<const void*(int)>& array, void* dst, int64_t begin,
              int64_t end) {
  using Sum = typename Accumulator<T>::type;
  Sum total[kChunk];
  for (int64_t at = begin; at < end; at += kChunk) {
    const int64_t size = std::min(kChunk, end - at);
    ChunkTree<T>(array, at, size).Add(0, count, total, 0);
    To* const to = static_cast<To*>(dst) + at;
    for (int64_t i = 0; i < size; ++i) to[i] = ConvertTo<To>(total[i]);
  }
}

template <class T>
void AddTyped(const void* from, void* to, int64_t n) {
  const T* const added = static_cast<const T*>(from);
  T* const sum = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) sum[i] += added[i];
}

}  // namespace

void AddArray(DType dtype, const void* from, void* to, int64_t n) {
  switch (dtype) {
    case DType::kFloat:
      return AddTyped<float>(from, to, n);
    case DType::kDouble:
      return AddTyped<double>(from, to, n);
    case DType::kInt32:
      return AddTyped<int32_t>(from, to, n);
    case DType::kInt64:
      return AddTyped<int64_t>(from, to, n);
    default:
      Check(false, "no sum of {}", NameOf(dtype));
  }
}

void TreeSum(DType dtype, int count, const std::function<const void*(int)>& array, void* dst,
             int64_t begin, int64_t end) {
  switch (dtype) {
    case DType::kFloat:
      return SumTyped<float>(count, array, dst, begin, end);
    case DType::kDouble:
      return SumTyped<double>(count, array, dst, begin, end);
    case DType::kBfloat16:
      return SumTyped<bfloat16>(count, array, dst, begin, end);
    case DType::kInt32:
      return SumTyped<int32_t>(count, array, dst, begin, end);
    case DType::kInt64:
      return SumTyped<int64_t>(count, array, dst, begin, end);
    default:
      Check(false, "no sum of {}", NameOf(dtype));
  }
}

DType AddedIn(DType dtype) { return dtype == DType::kBfloat16 ? DType::kFloat : dtype; }

void UnroundedTreeSum(DType dtype, int count, const std::function<const void*(int)>& array,
                      void* dst, int64_t begin, int64_t end) {
  if (dtype != DType::kBfloat16) return TreeSum(dtype, count, array, dst, begin, end);
  SumTyped<bfloat16, float>(count, array, dst, begin, end);
}

}  // namespace tpuest
