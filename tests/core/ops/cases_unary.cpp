// Functions of one argument, Cast, and gradient ops.

#include <cmath>
#include <limits>

#include "core/ops/elementwise.h"
#include "core/ops/sorted_search.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using UnaryBuilder = Value (*)(Value, std::string_view);

BuildFn Of(UnaryBuilder op) {
  return [op](Graph&, const std::vector<Value>& in) { return Built{{op(in[0], "")}, {}}; };
}

using BinaryBuilder = Value (*)(Value, Value, std::string_view);

BuildFn Of(BinaryBuilder op) {
  return [op](Graph&, const std::vector<Value>& in) { return Built{{op(in[0], in[1], "")}, {}}; };
}

BuildFn CastTo(DType dtype) {
  return [dtype](Graph&, const std::vector<Value>& in) {
    return Built{{ops::Cast(in[0], dtype)}, {}};
  };
}

// Smooth functions: 37 numbers, so that there are whole vectors and a remainder.
OpCase Smooth(std::string op, UnaryBuilder build, float scale, float offset) {
  return {
      .op = std::move(op), .inputs = {Wave({37}, scale, offset)}, .build = Of(build), .batch = {0}};
}

OpCase Known(std::string op, std::string claim, UnaryBuilder build, Tensor x, Tensor y) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = {std::move(x)},
          .build = Of(build),
          .expected = {std::move(y)},
          .numeric_gradient = false,
          .in_bfloat16 = false};
}

std::vector<OpCase> SmoothCases() {
  return {
      Smooth("Neg", ops::Neg, 3, 0),         Smooth("Exp", ops::Exp, 3, 0),
      Smooth("Log", ops::Log, 1, 1.5F),      Smooth("Log1p", ops::Log1p, 1, 0.5F),
      Smooth("Expm1", ops::Expm1, 1, 0.2F),  Smooth("Sqrt", ops::Sqrt, 1, 1.5F),
      Smooth("Rsqrt", ops::Rsqrt, 1, 1.5F),  Smooth("Square", ops::Square, 3, 0),
      Smooth("Abs", ops::Abs, 3, 0.01F),     Smooth("Sign", ops::Sign, 3, 0.01F),
      Smooth("Floor", ops::Floor, 3, 0.01F), Smooth("Ceil", ops::Ceil, 3, 0.01F),
      Smooth("Round", ops::Round, 3, 0.01F), Smooth("Sin", ops::Sin, 3, 0),
      Smooth("Cos", ops::Cos, 3, 0),         Smooth("Reciprocal", ops::Reciprocal, 1, 1.5F),
      Smooth("Sigmoid", ops::Sigmoid, 5, 0), Smooth("Tanh", ops::Tanh, 2, 0),
      Smooth("Erf", ops::Erf, 2, 0),
  };
}

std::vector<OpCase> KnownCases() {
  const float e = std::exp(1.0F);
  return {
      Known("Exp", "of 0, 1, infinities and NaN", ops::Exp, Floats({5}, {0, 1, -kInf, kInf, kNan}),
            Floats({5}, {1, e, 0, kInf, kNan})),
      Known("Log", "of 1, 0 and a negative", ops::Log, Floats({3}, {1, 0, -1}),
            Floats({3}, {0, -kInf, kNan})),
      Known("Log1p", "is exact near 0", ops::Log1p, Floats({3}, {-0.5F, 1e-5F, 2}),
            Floats({3}, {-0.693147182F, 9.99995e-6F, 1.0986123F})),
      Known("Expm1", "is exact near 0", ops::Expm1, Floats({3}, {-1, 1e-5F, 2}),
            Floats({3}, {-0.632120549F, 1.000005e-5F, 6.38905621F})),
      Known("Sqrt", "of a negative is NaN", ops::Sqrt, Floats({3}, {4, 0, -1}),
            Floats({3}, {2, 0, kNan})),
      Known("Rsqrt", "of 0 is infinite", ops::Rsqrt, Floats({3}, {4, 0, 0.25F}),
            Floats({3}, {0.5F, kInf, 2})),
      Known("Sign", "is -1, 0 or 1", ops::Sign, Floats({3}, {-2, 0, 3}), Floats({3}, {-1, 0, 1})),
      Known("Round", "goes half to even", ops::Round,
            Floats({7}, {-2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F, 2.4F}),
            Floats({7}, {-2, -2, -0.0F, 0, 2, 2, 2})),
      Known("Floor", "goes down", ops::Floor, Floats({3}, {-1.5F, 1.5F, 2}),
            Floats({3}, {-2, 1, 2})),
      Known("Ceil", "goes up", ops::Ceil, Floats({3}, {-1.5F, 1.5F, 2}), Floats({3}, {-1, 2, 2})),
      Known("Sigmoid", "far out", ops::Sigmoid, Floats({5}, {-30, -2, 0, 2, 30}),
            Floats({5}, {9.35762297e-14F, 0.119202919F, 0.5F, 0.880797088F, 1})),
      Known("Tanh", "far out", ops::Tanh, Floats({5}, {-30, -2, 0, 0.5F, 30}),
            Floats({5}, {-1, -0.964027584F, 0, 0.462117165F, 1})),
      Known("Erf", "known values", ops::Erf, Floats({4}, {-1, 0, 0.5F, 3}),
            Floats({4}, {-0.842700839F, 0, 0.520499885F, 0.999977767F})),
      Known("Neg", "of integers", ops::Neg, Ints({3}, {-2, 0, 3}), Ints({3}, {2, 0, -3})),
      Known("Square", "of integers", ops::Square, Longs({2}, {-3, 100000}),
            Longs({2}, {9, 10000000000})),
      Known("IsFinite", "", ops::IsFinite, Floats({4}, {1, kInf, -kInf, kNan}),
            Bools({4}, {1, 0, 0, 0})),
      Known("IsNan", "", ops::IsNan, Floats({4}, {1, kInf, -kInf, kNan}), Bools({4}, {0, 0, 0, 1})),
      Known("LogicalNot", "", ops::LogicalNot, Bools({2}, {1, 0}), Bools({2}, {0, 1})),
  };
}

std::vector<OpCase> CastCases() {
  return {
      {.op = "Cast",
       .claim = "cuts fractions off",
       .inputs = {Floats({2}, {1.9F, -1.9F})},
       .build = CastTo(DType::kInt32),
       .expected = {Ints({2}, {1, -1})},
       .batch = {0}},
      {.op = "Cast",
       .claim = "what is not 0 is true",
       .inputs = {Floats({4}, {1.9F, -1.9F, 0, kInf})},
       .build = CastTo(DType::kBool),
       .expected = {Bools({4}, {1, 1, 0, 1})},
       .in_double = false},
      {.op = "Cast",
       .claim = "of truth is 0 or 1",
       .inputs = {Bools({2}, {1, 0})},
       .build = CastTo(DType::kFloat),
       .expected = {Floats({2}, {1, 0})}},
      {.op = "Cast",
       .claim = "has a gradient between floating types",
       .inputs = {Wave({3, 2})},
       .build =
           [](Graph&, const std::vector<Value>& in) {
             const DType other = in[0].dtype() == DType::kDouble ? DType::kFloat : DType::kDouble;
             return Built{{ops::Cast(ops::Cast(in[0], other), in[0].dtype())}, {}};
           },
       .batch = {0},
       .numeric_gradient = false},  // rounding to float hides the slope
  };
}

OpCase Buckets(std::string claim, Tensor x, const std::vector<double>& boundaries, Tensor y) {
  return {.op = "Bucketize",
          .claim = std::move(claim),
          .inputs = {std::move(x)},
          .build =
              [boundaries](Graph&, const std::vector<Value>& in) {
                return Built{{ops::Bucketize(in[0], boundaries)}, {}};
              },
          .expected = {std::move(y)},
          .batch = {0},
          .in_bfloat16 = false};
}

std::vector<OpCase> BucketCases() {
  return {
      Buckets("a boundary begins its bucket; NaN is above all",
              Floats({8}, {-kInf, -0.5F, 0, 0.5F, 1, 2.5F, kInf, kNan}), {0, 1, 2.5},
              Ints({8}, {0, 0, 1, 1, 2, 3, 3, 3})),
      Buckets("of integers", Longs({2, 2}, {17, 18, 64, 65}), {18, 64.5},
              Ints({2, 2}, {0, 1, 1, 2})),
      Buckets("without boundaries", Ints({2}, {-1, 1}), {}, Ints({2}, {0, 0})),
  };
}

std::vector<OpCase> BoundCases() {
  return {{.op = "LowerBound",
           .claim = "is where a number stands, or would",
           .inputs = {Longs({2, 3}, {1, 4, 4, -9, 0, 7}), Longs({2, 4}, {4, 0, 5, 1, 7, 8, -9, 1})},
           .build =
               [](Graph&, const std::vector<Value>& in) {
                 return Built{{ops::LowerBound(in[0], in[1])}, {}};
               },
           .expected = {Ints({2, 4}, {1, 0, 3, 0, 2, 3, 0, 2})},
           .in_bfloat16 = false}};
}

std::vector<OpCase> GradientCases() {
  const Tensor y = Wave({3, 5}, 0.4F, 0.5F);
  const Tensor dy = Wave({3, 5}, 1, 0.2F);
  std::vector<OpCase> cases;
  const std::pair<const char*, BinaryBuilder> ops[] = {{"RsqrtGrad", ops::RsqrtGrad},
                                                       {"SqrtGrad", ops::SqrtGrad},
                                                       {"SigmoidGrad", ops::SigmoidGrad},
                                                       {"TanhGrad", ops::TanhGrad}};
  for (const auto& [op, build] : ops) {
    cases.push_back({.op = op, .inputs = {y, dy}, .build = Of(build), .batch = {0, 1}});
  }
  return cases;
}

}  // namespace

std::vector<OpCase> UnaryCases() {
  std::vector<OpCase> all = SmoothCases();
  for (const auto cases : {KnownCases, CastCases, BucketCases, BoundCases, GradientCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
