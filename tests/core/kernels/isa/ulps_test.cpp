#include "tests/core/kernels/isa/ulps.h"

#include <doctest/doctest.h>

#include "core/kernels/isa/cpu_isa.h"

namespace tpuest::ulps {
namespace {

template <class T>
void CheckCase(const Case& of, CpuIsa isa) {
  constexpr size_t kCount = 4000;
  for (const bool all : {true, false}) {
    const auto numbers = all ? BitPatterns<T> : ModelNumbers<T>;
    const Worst worst = Measure<T>(of, KernelsOf(isa), numbers(kCount, 1), numbers(kCount, 2));
    CAPTURE(of.name);
    CAPTURE(NameOf(isa));
    CAPTURE(sizeof(T));
    CAPTURE(worst.a);
    CAPTURE(worst.b);
    CHECK(worst.ulps <= of.bound);
    CAPTURE(worst.kind_a);
    CAPTURE(worst.kind_b);
    CHECK(worst.kind_differs == 0);
  }
}

TEST_CASE("elementwise kernels are within their bounds of the exact results") {
  for (const Case& of : Cases()) {
    for (const CpuIsa isa : CpuIsas()) {
      CheckCase<float>(of, isa);
      CheckCase<double>(of, isa);
    }
  }
}

}  // namespace
}  // namespace tpuest::ulps
