// Strings.

#include "core/ops/strings.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

OpCase Prints(std::string claim, Tensor x, const ops::AsStringOptions& options,
              const std::vector<std::string>& texts) {
  const Shape shape = x.shape();
  return {.op = "AsString",
          .claim = std::move(claim),
          .inputs = {std::move(x)},
          .build =
              [options](Graph&, const In& in) {
                return Built{{ops::AsString(in[0], options)}, {}};
              },
          .expected = {Tensor::Strings(shape, texts)},
          .in_double = false,
          .in_bfloat16 = false};
}

}  // namespace

std::vector<OpCase> StringCases() {
  return {
      Prints("six digits", Floats({2}, {1.5F, -2.25F}), {}, {"1.500000", "-2.250000"}),
      Prints("precision", Floats({2}, {1.5F, 1234567}), {.precision = 2}, {"1.50", "1234567.00"}),
      Prints("scientific", Floats({2}, {1.5F, 1e-9F}), {.precision = 3, .scientific = true},
             {"1.500e+00", "1.000e-09"}),
      Prints("shortest", Floats({2}, {1.5F, 1e20F}), {.shortest = true}, {"1.5", "1e+20"}),
      Prints("integers, filled", Ints({2}, {7, -12}), {.width = 5, .fill = "0"},
             {"00007", "-0012"}),
      Prints("truth", Bools({2}, {1, 0}), {}, {"true", "false"}),
      {.op = "StringToHashBucketFast",
       .inputs = {Tensor::Strings({4}, {"", "a", "hello", "categorical"})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::StringToHashBucketFast(in[0], 1000)}, {}};
           },
       .expected = {Longs({4}, {263, 939, 296, 59})}},
  };
}

}  // namespace tpuest
