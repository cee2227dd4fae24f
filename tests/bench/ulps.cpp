// Prints how far each elementwise kernel is from the exact result, in units in the last place, for
// both instruction sets and dtypes: over all bit patterns, then over the sizes that models have.
//   build/release/tests/bench/ulps [COUNT [SEED]]

#include "tests/core/kernels/isa/ulps.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "core/kernels/isa/cpu_isa.h"

namespace tpuest::ulps {
namespace {

template <class T>
void Report(const Case& of, std::string_view isa, const KernelTable& table, size_t count,
            uint64_t seed) {
  for (const bool all : {true, false}) {
    const auto numbers = all ? BitPatterns<T> : ModelNumbers<T>;
    const Worst worst = Measure<T>(of, table, numbers(count, seed), numbers(count, seed + 1));
    fmt::print("{:<22} {:<7} {:<7} {:<12} {:>12.2f} at {:.9g}", of.name, isa,
               sizeof(T) == 4 ? "float32" : "float64", all ? "all patterns" : "2^-12..2^8",
               worst.ulps, worst.a);
    if (of.has_two) fmt::print(", {:.9g}", worst.b);
    if (worst.kind_differs > 0) {
      fmt::print(
          "; {} of {} are NaN or infinite where they should not be, or the reverse, first {:.9g}",
          worst.kind_differs, worst.count, worst.kind_a);
      if (of.has_two) fmt::print(", {:.9g}", worst.kind_b);
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace tpuest::ulps

int main(int argc, char** argv) {
  using namespace tpuest;
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (const ulps::Case& of : ulps::Cases()) {
    for (const CpuIsa isa : CpuIsas()) {
      const KernelTable& table = KernelsOf(isa);
      ulps::Report<float>(of, NameOf(isa), table, count, seed);
      ulps::Report<double>(of, NameOf(isa), table, count, seed);
    }
  }
}
