#pragma once
// Element-wise maths. Functions of two or more values broadcast as NumPy does; two unknown
// dimensions are assumed to be equal, as are an unknown dimension and a known one other than 1.
// Results have the dtype of the inputs (comparisons: bool); all inputs have one dtype. bfloat16 is
// computed in float and rounded.

#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

Value Neg(Value x, std::string_view name = "");
Value Exp(Value x, std::string_view name = "");
Value Log(Value x, std::string_view name = "");
Value Log1p(Value x, std::string_view name = "");
Value Expm1(Value x, std::string_view name = "");
Value Sqrt(Value x, std::string_view name = "");
Value Rsqrt(Value x, std::string_view name = "");
Value Square(Value x, std::string_view name = "");
Value Abs(Value x, std::string_view name = "");
// -1, 0 or 1; NaN stays NaN.
Value Sign(Value x, std::string_view name = "");
Value Floor(Value x, std::string_view name = "");
Value Ceil(Value x, std::string_view name = "");
// Rounds half to even.
Value Round(Value x, std::string_view name = "");
Value Sin(Value x, std::string_view name = "");
Value Cos(Value x, std::string_view name = "");
Value Reciprocal(Value x, std::string_view name = "");
Value Sigmoid(Value x, std::string_view name = "");
Value Tanh(Value x, std::string_view name = "");
Value Erf(Value x, std::string_view name = "");
Value IsFinite(Value x, std::string_view name = "");  // -> bool
Value IsNan(Value x, std::string_view name = "");     // -> bool
Value LogicalNot(Value x, std::string_view name = "");
// Converts as C++ does; bool is 0 or 1, and a number is true if it is not 0. Returns `x` itself if
// it has the dtype.
Value Cast(Value x, DType dtype, std::string_view name = "");

// Ops of gradients: y is the function's result, dy has y's shape.
Value RsqrtGrad(Value y, Value dy, std::string_view name = "");    // -dy y^3 / 2
Value SqrtGrad(Value y, Value dy, std::string_view name = "");     // dy / (2 y)
Value SigmoidGrad(Value y, Value dy, std::string_view name = "");  // dy y (1 - y)
Value TanhGrad(Value y, Value dy, std::string_view name = "");     // dy (1 - y^2)

Value AddV2(Value x, Value y, std::string_view name = "");
Value Sub(Value x, Value y, std::string_view name = "");
Value Mul(Value x, Value y, std::string_view name = "");
Value RealDiv(Value x, Value y, std::string_view name = "");
// x / y, and 0 where y is 0.
Value DivNoNan(Value x, Value y, std::string_view name = "");
Value Maximum(Value x, Value y, std::string_view name = "");
Value Minimum(Value x, Value y, std::string_view name = "");
Value SquaredDifference(Value x, Value y, std::string_view name = "");
Value Pow(Value x, Value y, std::string_view name = "");
// The quotient rounded down, and its remainder, which has y's sign. Dividing integers by 0 is an
// Error kData on the CPU.
Value FloorDiv(Value x, Value y, std::string_view name = "");
Value FloorMod(Value x, Value y, std::string_view name = "");

// The functions above with a number, which takes the other operand's dtype.
Value AddV2(Value x, double y, std::string_view name = "");
Value Sub(Value x, double y, std::string_view name = "");
Value Sub(double x, Value y, std::string_view name = "");
Value Mul(Value x, double y, std::string_view name = "");
Value RealDiv(Value x, double y, std::string_view name = "");
Value RealDiv(double x, Value y, std::string_view name = "");
Value Maximum(Value x, double y, std::string_view name = "");
Value Minimum(Value x, double y, std::string_view name = "");
Value Pow(Value x, double y, std::string_view name = "");

Value Equal(Value x, Value y, std::string_view name = "");  // -> bool, as do all of these
Value NotEqual(Value x, Value y, std::string_view name = "");
Value Less(Value x, Value y, std::string_view name = "");
Value LessEqual(Value x, Value y, std::string_view name = "");
Value Greater(Value x, Value y, std::string_view name = "");
Value GreaterEqual(Value x, Value y, std::string_view name = "");
Value LogicalAnd(Value x, Value y, std::string_view name = "");
Value LogicalOr(Value x, Value y, std::string_view name = "");

// Returns the number of boundaries (in increasing order, stored as float) that are at most x
// (int32, int64, float or double) -> int32. NaN counts as greater than all of them.
Value Bucketize(Value x, const std::vector<double>& boundaries, std::string_view name = "");

// Returns x where condition (bool) holds, otherwise y; all three broadcast (tf.where).
Value SelectV2(Value condition, Value x, Value y, std::string_view name = "");
// Returns the sum of values of one shape, in their order; a single value is returned as it is.
Value AddN(std::vector<Value> values, std::string_view name = "");
// Returns max(min(x, high), low), as tf.clip_by_value.
Value ClipByValue(Value x, Value low, Value high, std::string_view name = "");
Value ClipByValue(Value x, double low, double high, std::string_view name = "");

// Sums dy, whose shape x was broadcast to, back to x's shape.
Value SumToShapeOf(Value dy, Value x);

OpFamily UnaryOps();
OpFamily BinaryOps();
OpFamily SelectOps();
OpFamily BucketOps();  // Bucketize

}  // namespace tpuest::ops
