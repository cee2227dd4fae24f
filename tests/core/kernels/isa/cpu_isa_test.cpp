#include "core/kernels/isa/cpu_isa.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/kernels/isa/kernel_table.h"
#include "core/tensor/tensor.h"
#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

constexpr DType kReals[] = {DType::kFloat, DType::kDouble, DType::kBfloat16};

// Every table that this processor can run.
std::vector<const KernelTable*> Tables() {
  std::vector<const KernelTable*> tables = {&base::Table()};
#ifdef TPUEST_HAS_AVX512
  if (CpuIsas().back() == CpuIsa::kAvx512) tables.push_back(&avx512::Table());
#endif
  return tables;
}

// True if fn(table) gives the same bits for every table.
template <class Fn>
bool AllAgree(Fn&& fn) {
  const Tensor first = fn(*Tables().front());
  for (const KernelTable* const table : Tables()) {
    if (!SameBits(fn(*table), first)) return false;
  }
  return true;
}

// Numbers of all magnitudes, and NaN at both ends; the length is not a multiple of a vector.
Tensor Values(DType dtype, int64_t seed, int64_t n = 1003) {
  Tensor tensor(DType::kDouble, {n});
  for (int64_t i = 0; i < n; ++i) {
    const double unit = static_cast<double>((i + seed) * 7919 % 2011 - 1005) / 1005.0;
    tensor.data<double>()[i] = unit * std::ldexp(1.0, static_cast<int>((i + seed) % 41) - 20);
  }
  const bool is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  const double limits[] = {std::numeric_limits<double>::infinity(), -0.0, 1e-40, NAN, -INFINITY};
  for (int64_t i = 0; i < 5 && !is_integer && n > 10; ++i) {
    tensor.data<double>()[i] = limits[i];
    tensor.data<double>()[n - 1 - i] = limits[i];
  }
  return tensor.Cast(dtype);
}

TEST_CASE("the processor's best set is chosen, and oneDNN's version told") {
  const ChosenIsa& chosen = ChosenCpuIsa();
  CHECK(chosen.kernels == CpuIsas().back());
  CHECK(!chosen.pinned);
  CHECK(chosen.onednn.find("avx") == 0);
  CHECK(chosen.version.find("2.") == 0);
}

TEST_CASE("a set cannot be pinned once another is in use") {
  (void)ChosenCpuIsa();
  CHECK_THROWS(PinCpuIsa(CpuIsa::kBase));
}

// Eigen 3.4 has a different exp for vectors of 16 floats.
bool IsEigensExp(Unary op) {
  return op == Unary::kExp || op == Unary::kExpm1 || op == Unary::kSigmoid;
}

TEST_CASE("functions of one argument but exp's have the same bits in every set") {
  for (int op = 0; op <= static_cast<int>(Unary::kLogicalNot); ++op) {
    if (IsEigensExp(static_cast<Unary>(op))) continue;
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16, DType::kInt32}) {
      if (base::Table().unary(static_cast<Unary>(op), dtype) == nullptr) continue;
      CAPTURE(op);
      CAPTURE(NameOf(dtype));
      const bool to_bool =
          static_cast<Unary>(op) == Unary::kIsFinite || static_cast<Unary>(op) == Unary::kIsNan;
      const Tensor x = Values(dtype, op);
      CHECK(AllAgree([&](const KernelTable& table) {
        Tensor y(to_bool ? DType::kBool : dtype, x.shape());
        table.unary(static_cast<Unary>(op), dtype)(x.raw(), y.raw(), 1003);
        return y;
      }));
    }
  }
}

TEST_CASE("functions of two arguments have the same bits in every set") {
  for (int op = 0; op <= static_cast<int>(Binary::kGreaterEqual); ++op) {
    for (const DType dtype : kReals) {
      if (base::Table().binary(static_cast<Binary>(op), dtype) == nullptr) continue;
      CAPTURE(op);
      CAPTURE(NameOf(dtype));
      const Tensor a = Values(dtype, op);
      const Tensor b = Values(dtype, op + 77);
      CHECK(AllAgree([&](const KernelTable& table) {
        const bool to_bool = op >= static_cast<int>(Binary::kEqual);
        Tensor y(to_bool ? DType::kBool : dtype, a.shape());
        table.binary(static_cast<Binary>(op), dtype)(a.raw(), b.raw(), y.raw(), 1003, 1, 1);
        return y;
      }));
    }
  }
}

TEST_CASE("reductions and casts have the same bits in every set") {
  for (const DType dtype : kReals) {
    const Tensor x = Numbers(dtype, {1003}, 3);
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kProd}) {
      CHECK(AllAgree([&](const KernelTable& table) {
        const Reduce::Layout layout = {.outer = {}, .inner = {.size = 1003, .reduced = true}};
        Tensor y(dtype, {1});
        double scratch[2];
        table.reduce_loop(reduction, dtype, dtype)(layout, x.raw(), y.raw(), scratch);
        return y;
      }));
    }
    for (const DType to : kReals) {
      const Tensor from = Values(dtype, 1);
      CHECK(AllAgree([&](const KernelTable& table) {
        Tensor y(to, from.shape());
        table.cast(dtype, to)(from.raw(), y.raw(), 1003);
        return y;
      }));
    }
  }
}

TEST_CASE("activations, bias, batch normalisation and softmax have the same bits in every set") {
  constexpr int64_t kRows = 59;
  constexpr int64_t kColumns = 17;
  for (const DType dtype : kReals) {
    CAPTURE(NameOf(dtype));
    const Tensor x = Numbers(dtype, {kRows, kColumns}, 3);
    const Tensor dy = Numbers(dtype, {kRows, kColumns}, 23);
    for (int kind = 0; kind <= static_cast<int>(Activation::kSoftsign); ++kind) {
      CHECK(AllAgree([&](const KernelTable& table) {
        Tensor y(dtype, {2, kRows * kColumns});
        const auto activation = static_cast<Activation>(kind);
        table.activation(activation, dtype)(x.raw(), y.raw(), kRows * kColumns, 0.3F);
        table.activation_grad(activation, dtype)(dy.raw(), x.raw(), y.Rows(1, 2).raw(),
                                                 kRows * kColumns, 0.3F);
        return y;
      }));
    }
    CHECK(AllAgree([&](const KernelTable& table) {
      Tensor y(dtype, {kColumns});
      table.bias_grad(dtype, dtype)(dy.raw(), y.raw(), kRows, kColumns);
      return y;
    }));
    const DType wide = dtype == DType::kBfloat16 ? DType::kFloat : dtype;
    const Tensor parts = Numbers(wide, {4, kColumns}, 9);
    const Tensor variance = [&] {
      Tensor positive = parts.Rows(3, 4).Clone();
      base::Table().unary(Unary::kAbs, wide)(positive.raw(), positive.raw(), kColumns);
      return positive;
    }();
    CHECK(AllAgree([&](const KernelTable& table) {
      Tensor y(dtype, {kRows, kColumns});
      table.batch_norm(dtype).apply(x.raw(), parts.raw(), parts.Rows(1, 2).raw(),
                                    parts.Rows(2, 3).raw(), variance.raw(), 1e-3, y.raw(), kRows,
                                    kColumns);
      return y;
    }));
    CHECK(AllAgree([&](const KernelTable& table) {
      Tensor y(dtype, {kRows, kColumns});
      table.softmax(dtype).softmax(x.raw(), y.raw(), kRows, kColumns);
      return y;
    }));
  }
}

// A step of each optimizer on float or double.
template <class T>
Tensor Steps(const OptimizerKernels<T>& of) {
  constexpr int64_t kSize = 1003;
  const DType dtype = kDTypeOf<T>;
  const Tensor grad = Numbers(dtype, {kSize}, 41);
  Tensor state = Numbers(dtype, {4, kSize}, 7);
  T* const var = state.data<T>();
  T* const m = var + kSize;
  T* const v = m + kSize;
  T* const more = v + kSize;
  const T* const g = grad.data<T>();
  for (int64_t i = 0; i < 2 * kSize; ++i) v[i] = std::abs(v[i]) + T(2);
  of.gradient_descent(var, g, kSize, T(0.1));
  of.momentum(var, m, g, kSize, {T(0.1), T(0.9), true});
  of.keras_momentum(var, m, g, kSize, {T(0.1), T(0.9), false});
  of.adam(var, m, v, g, kSize, {T(0.01), T(0.9), T(0.999), T(1e-7), false});
  of.rms_prop(var, v, m, g, kSize, {T(0.01), T(0.9), T(0.1), T(1e-7)});
  of.adagrad(var, v, g, kSize, {T(0.1), T(1e-7), true, true});
  of.ftrl(var, v, m, g, kSize, {T(0.1), T(0.01), T(0.1), T(0), T(-0.5), false});
  of.centered_rms_prop(var, m, more, v, g, kSize, {T(0.01), T(0.9), T(0.1), T(10)});
  return state;
}

TEST_CASE("optimizers have the same bits in every set") {
  CHECK(AllAgree([](const KernelTable& table) { return Steps(table.float_optimizers()); }));
  CHECK(AllAgree([](const KernelTable& table) { return Steps(table.double_optimizers()); }));
}

}  // namespace
}  // namespace tpuest
