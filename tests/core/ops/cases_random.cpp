// Random ops: their distribution and slices are tested in random_test.cpp.

#include "core/ops/array.h"
#include "core/ops/random.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;
using Builder = Value (*)(Value, DType, std::string_view);

// A tensor of the first input's shape.
OpCase Draws(std::string op, Builder build) {
  return {.op = std::move(op),
          .inputs = {Floats({2, 3}, {0, 0, 0, 0, 0, 0})},
          .build =
              [build](Graph&, const In& in) {
                return Built{{build(ops::ShapeOf(in[0]), DType::kFloat, "")}, {}};
              },
          .batch = {0}};
}

}  // namespace

std::vector<OpCase> RandomCases() {
  return {
      Draws("RandomUniform", ops::RandomUniform),
      Draws("RandomStandardNormal", ops::RandomStandardNormal),
      Draws("TruncatedNormal", ops::TruncatedNormal),
      {.op = "RandomUniformInt",
       .inputs = {Floats({2, 3}, {0, 0, 0, 0, 0, 0}), Ints({}, {-5}), Ints({}, {7})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::RandomUniformInt(ops::ShapeOf(in[0]), in[1], in[2])}, {}};
           },
       .batch = {0}},
  };
}

}  // namespace tpuest
