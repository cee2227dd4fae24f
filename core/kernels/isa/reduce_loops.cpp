#include <algorithm>
#include <limits>

#include "core/kernels/isa/isa_kernels.h"
#include "core/kernels/isa/wrapping.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

// Number of partial sums along reduced elements; they are added as a tree at the end.
constexpr int kSumLanes = 16;

template <class A>
struct SumFn {
  static A Start() { return A(0); }
  static A On(A a, A b) { return static_cast<A>(Wrapping<A>(a) + Wrapping<A>(b)); }
};
template <class A>
struct ProdFn {
  static A Start() { return A(1); }
  static A On(A a, A b) { return static_cast<A>(Wrapping<A>(a) * Wrapping<A>(b)); }
};
// NaN if any element is NaN.
template <class A>
struct MaxFn {
  static A Start() {
    return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                                : std::numeric_limits<A>::lowest();
  }
  static A On(A a, A b) { return a < b || b != b ? b : a; }
};
template <class A>
struct MinFn {
  static A Start() {
    return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity()
                                                : std::numeric_limits<A>::max();
  }
  static A On(A a, A b) { return b < a || b != b ? b : a; }
};
template <class A>
struct AllFn {
  static A Start() { return true; }
  static A On(A a, A b) { return a && b; }
};
template <class A>
struct AnyFn {
  static A Start() { return false; }
  static A On(A a, A b) { return a || b; }
};

template <class Fn, class A, class In>
A ReduceRun(const In* x, int64_t n) {
  A lanes[kSumLanes];
  std::fill_n(lanes, kSumLanes, Fn::Start());
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int k = 0; k < kSumLanes; ++k) lanes[k] = Fn::On(lanes[k], ConvertTo<A>(x[i + k]));
  }
  for (int k = 0; i < n; ++i, ++k) lanes[k] = Fn::On(lanes[k], ConvertTo<A>(x[i]));
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lanes[k] = Fn::On(lanes[k], lanes[k + width]);
  }
  return lanes[0];
}

template <class Fn, class A, class In, class Out>
void ReduceLoop(const Reduce::Layout& layout, const void* in_raw, void* out_raw, void* scratch) {
  const In* in = static_cast<const In*>(in_raw);
  A* const sums = static_cast<A*>(scratch);
  std::fill_n(sums, layout.results, Fn::Start());
  int64_t at[16] = {};
  int64_t result = 0;
  const Reduce::Group& inner = layout.inner;
  for (int64_t r = 0; r < layout.runs; ++r, in += inner.size) {
    A* const sum = sums + result;
    if (inner.reduced) {
      *sum = Fn::On(*sum, ReduceRun<Fn, A>(in, inner.size));
    } else {
      for (int64_t k = 0; k < inner.size; ++k) sum[k] = Fn::On(sum[k], ConvertTo<A>(in[k]));
    }
    for (size_t d = layout.outer.size(); d-- > 0;) {
      const Reduce::Group& group = layout.outer[d];
      result += group.out_stride;
      if (++at[d] < group.size) break;
      result -= group.out_stride * group.size;
      at[d] = 0;
    }
  }
  Out* const out = static_cast<Out*>(out_raw);
  for (int64_t i = 0; i < layout.results; ++i) {
    A value = sums[i];
    if constexpr (!std::is_same_v<A, bool>) {
      if (layout.divisor != 1) value /= static_cast<A>(layout.divisor);
    }
    out[i] = ConvertTo<Out>(value);
  }
}

template <class A, class In, class Out>
Reduce::Loop FindNumber(Reduction reduction) {
  using Own = std::conditional_t<std::is_same_v<In, bfloat16>, float, In>;
  switch (reduction) {
    case Reduction::kSum:
      return ReduceLoop<SumFn<A>, A, In, Out>;
    case Reduction::kProd:
      return ReduceLoop<ProdFn<A>, A, In, Out>;
    case Reduction::kMax:
      return ReduceLoop<MaxFn<Own>, Own, In, Out>;
    case Reduction::kMin:
      return ReduceLoop<MinFn<Own>, Own, In, Out>;
    default:
      return nullptr;
  }
}

}  // namespace

Reduce::Loop FindReduceLoop(Reduction reduction, DType in, DType out) {
  if (in == DType::kBfloat16 && out == DType::kFloat) {
    return FindNumber<double, bfloat16, float>(reduction);
  }
  if (in != out) return nullptr;
  switch (in) {
    case DType::kFloat:
      return FindNumber<double, float, float>(reduction);
    case DType::kDouble:
      return FindNumber<double, double, double>(reduction);
    case DType::kBfloat16:
      return FindNumber<double, bfloat16, bfloat16>(reduction);
    case DType::kInt32:
      return FindNumber<int64_t, int32_t, int32_t>(reduction);
    case DType::kInt64:
      return FindNumber<int64_t, int64_t, int64_t>(reduction);
    case DType::kBool:
      if (reduction == Reduction::kAll) return ReduceLoop<AllFn<bool>, bool, bool, bool>;
      if (reduction == Reduction::kAny) return ReduceLoop<AnyFn<bool>, bool, bool, bool>;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace tpuest::TPUEST_ISA
