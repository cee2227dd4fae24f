// Functions of two arguments.

#include "core/graph/flops.h"
#include "core/kernels/broadcast.h"
#include "core/kernels/isa/binary.h"
#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/bits.h"
#include "core/ops/elementwise.h"
#include "core/ops/elementwise_hlo.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

namespace {

Value Two(std::string_view op, Value x, Value y, std::string_view name) {
  return x.graph().Add(op, {x, y}, {}, name);
}

Value NumberLike(Value x, double number) { return x.graph().ScalarOf(x.dtype(), number); }

}  // namespace

Value RsqrtGrad(Value y, Value dy, std::string_view name) { return Two("RsqrtGrad", y, dy, name); }
Value SqrtGrad(Value y, Value dy, std::string_view name) { return Two("SqrtGrad", y, dy, name); }
Value SigmoidGrad(Value y, Value dy, std::string_view name) {
  return Two("SigmoidGrad", y, dy, name);
}
Value TanhGrad(Value y, Value dy, std::string_view name) { return Two("TanhGrad", y, dy, name); }

Value AddV2(Value x, Value y, std::string_view name) { return Two("AddV2", x, y, name); }
Value Sub(Value x, Value y, std::string_view name) { return Two("Sub", x, y, name); }
Value Mul(Value x, Value y, std::string_view name) { return Two("Mul", x, y, name); }
Value RealDiv(Value x, Value y, std::string_view name) { return Two("RealDiv", x, y, name); }
Value DivNoNan(Value x, Value y, std::string_view name) { return Two("DivNoNan", x, y, name); }
Value Maximum(Value x, Value y, std::string_view name) { return Two("Maximum", x, y, name); }
Value Minimum(Value x, Value y, std::string_view name) { return Two("Minimum", x, y, name); }
Value SquaredDifference(Value x, Value y, std::string_view name) {
  return Two("SquaredDifference", x, y, name);
}
Value Pow(Value x, Value y, std::string_view name) { return Two("Pow", x, y, name); }
Value FloorDiv(Value x, Value y, std::string_view name) { return Two("FloorDiv", x, y, name); }
Value FloorMod(Value x, Value y, std::string_view name) { return Two("FloorMod", x, y, name); }
Value BitwiseAnd(Value x, Value y, std::string_view name) { return Two("BitwiseAnd", x, y, name); }
Value BitwiseXor(Value x, Value y, std::string_view name) { return Two("BitwiseXor", x, y, name); }
Value RightShift(Value x, Value y, std::string_view name) { return Two("RightShift", x, y, name); }

Value AddV2(Value x, double y, std::string_view name) { return AddV2(x, NumberLike(x, y), name); }
Value Sub(Value x, double y, std::string_view name) { return Sub(x, NumberLike(x, y), name); }
Value Sub(double x, Value y, std::string_view name) { return Sub(NumberLike(y, x), y, name); }
Value Mul(Value x, double y, std::string_view name) { return Mul(x, NumberLike(x, y), name); }
Value RealDiv(Value x, double y, std::string_view name) {
  return RealDiv(x, NumberLike(x, y), name);
}
Value RealDiv(double x, Value y, std::string_view name) {
  return RealDiv(NumberLike(y, x), y, name);
}
Value Maximum(Value x, double y, std::string_view name) {
  return Maximum(x, NumberLike(x, y), name);
}
Value Minimum(Value x, double y, std::string_view name) {
  return Minimum(x, NumberLike(x, y), name);
}
Value Pow(Value x, double y, std::string_view name) { return Pow(x, NumberLike(x, y), name); }

Value Equal(Value x, Value y, std::string_view name) { return Two("Equal", x, y, name); }
Value NotEqual(Value x, Value y, std::string_view name) { return Two("NotEqual", x, y, name); }
Value Less(Value x, Value y, std::string_view name) { return Two("Less", x, y, name); }
Value LessEqual(Value x, Value y, std::string_view name) { return Two("LessEqual", x, y, name); }
Value Greater(Value x, Value y, std::string_view name) { return Two("Greater", x, y, name); }
Value GreaterEqual(Value x, Value y, std::string_view name) {
  return Two("GreaterEqual", x, y, name);
}
Value LogicalAnd(Value x, Value y, std::string_view name) { return Two("LogicalAnd", x, y, name); }
Value LogicalOr(Value x, Value y, std::string_view name) { return Two("LogicalOr", x, y, name); }

Value SumToShapeOf(Value dy, Value x) {
  const Shape& from = dy.shape();
  const Shape& to = x.shape();
  if (from == to || !from.known_rank() || !to.known_rank()) return dy;
  const int added = from.rank() - to.rank();
  std::vector<int64_t> in_front;
  std::vector<int64_t> repeated;
  for (int d = 0; d < from.rank(); ++d) {
    if (d < added) {
      in_front.push_back(d);
    } else if (to.dim(d - added) == 1 && from.dim(d) != 1) {
      repeated.push_back(d - added);
    }
  }
  if (!in_front.empty()) dy = Sum(dy, in_front);
  if (!repeated.empty()) dy = Sum(dy, repeated, true);
  return dy;
}

namespace {

// Sets a gradient of input i after summing it to the input's shape.
template <class Fn>
void Send(GradContext& c, int i, Fn&& gradient) {
  const Value x = c.input(i);
  if (!c.Wants(i) || !IsFloating(x.dtype())) return;
  c.SetDx(i, SumToShapeOf(gradient(), x));
}

void AddGrad(GradContext& c) {
  Send(c, 0, [&] { return c.Dy(); });
  Send(c, 1, [&] { return c.Dy(); });
}
void SubGrad(GradContext& c) {
  Send(c, 0, [&] { return c.Dy(); });
  Send(c, 1, [&] { return Neg(c.Dy()); });
}
void MulGrad(GradContext& c) {
  Send(c, 0, [&] { return Mul(c.Dy(), c.input(1)); });
  Send(c, 1, [&] { return Mul(c.Dy(), c.input(0)); });
}
void RealDivGrad(GradContext& c) {
  Send(c, 0, [&] { return RealDiv(c.Dy(), c.input(1)); });
  Send(c, 1, [&] { return Neg(Mul(c.Dy(), RealDiv(c.output(0), c.input(1)))); });
}
void DivNoNanGrad(GradContext& c) {
  Send(c, 0, [&] { return DivNoNan(c.Dy(), c.input(1)); });
  Send(c, 1, [&] { return Neg(Mul(c.Dy(), DivNoNan(c.output(0), c.input(1)))); });
}
// The gradient of a maximum or minimum; if both are equal, the first gets it.
void Choose(GradContext& c, Value first_wins) {
  const Value zero = NumberLike(c.Dy(), 0);
  Send(c, 0, [&] { return SelectV2(first_wins, c.Dy(), zero); });
  Send(c, 1, [&] { return SelectV2(first_wins, zero, c.Dy()); });
}
void MaximumGrad(GradContext& c) { Choose(c, GreaterEqual(c.input(0), c.input(1))); }
void MinimumGrad(GradContext& c) { Choose(c, LessEqual(c.input(0), c.input(1))); }
void SquaredDifferenceGrad(GradContext& c) {
  const Value slope = Mul(Mul(c.Dy(), 2.0), Sub(c.input(0), c.input(1)));
  Send(c, 0, [&] { return slope; });
  Send(c, 1, [&] { return Neg(slope); });
}
// d/dx x^y = y x^(y-1); d/dy x^y = x^y log(x), or 0 unless x is positive.
void PowGrad(GradContext& c) {
  const Value x = c.input(0);
  const Value y = c.input(1);
  Send(c, 0, [&] { return Mul(c.Dy(), Mul(y, Pow(x, Sub(y, 1.0)))); });
  Send(c, 1, [&] {
    const Value positive = Greater(x, NumberLike(x, 0));
    const Value safe = Log(SelectV2(positive, x, NumberLike(x, 1)));
    return Mul(c.Dy(), Mul(c.output(0), safe));
  });
}
void FloorModGrad(GradContext& c) {
  Send(c, 0, [&] { return c.Dy(); });
  Send(c, 1, [&] { return Neg(Mul(c.Dy(), FloorDiv(c.input(0), c.input(1)))); });
}

// Second derivatives: y is input 0 and dy input 1 of the gradient op.
void GradOfRsqrtGrad(GradContext& c) {
  const Value y = c.input(0);
  Send(c, 0, [&] { return Mul(Mul(c.Dy(), c.input(1)), Mul(Square(y), -1.5)); });
  Send(c, 1, [&] { return RsqrtGrad(y, c.Dy()); });
}
void GradOfSqrtGrad(GradContext& c) {
  const Value y = c.input(0);
  Send(c, 0, [&] { return Neg(Mul(c.Dy(), RealDiv(c.output(0), y))); });
  Send(c, 1, [&] { return SqrtGrad(y, c.Dy()); });
}
void GradOfSigmoidGrad(GradContext& c) {
  const Value y = c.input(0);
  Send(c, 0, [&] { return Mul(Mul(c.Dy(), c.input(1)), Sub(1.0, Mul(y, 2.0))); });
  Send(c, 1, [&] { return SigmoidGrad(y, c.Dy()); });
}
void GradOfTanhGrad(GradContext& c) {
  const Value y = c.input(0);
  Send(c, 0, [&] { return Mul(Mul(c.Dy(), c.input(1)), Mul(y, -2.0)); });
  Send(c, 1, [&] { return TanhGrad(y, c.Dy()); });
}

template <Binary op>
void PlanBinary(PlanContext& context) {
  const DType dtype = context.InputDType(0);
  const BinaryKernel kernel = FindBinary(op, dtype);
  Check(kernel != nullptr, "{} has no kernel for {}", context.node().type(), NameOf(dtype));
  AllowInPlaceOfSame(context);
  const Buffer a = context.Input(0);
  const Buffer b = context.Input(1);
  const Buffer out = context.Output(0);
  const Broadcast walk(context.OutputShape(0), {context.InputShape(0), context.InputShape(1)});
  const auto in_bytes = static_cast<int64_t>(ElementBytes(dtype));
  const auto out_bytes = static_cast<int64_t>(SizeOf(context.OutputDType(0)));
  context.Run([=](const Task& task) {
    const char* const from_a = task.At<char>(a);
    const char* const from_b = task.At<char>(b);
    char* const to = task.At<char>(out);
    walk.ForEachRun([&](int64_t at, const Broadcast::Offsets& offsets) {
      kernel(from_a + offsets[0] * in_bytes, from_b + offsets[1] * in_bytes, to + at * out_bytes,
             walk.run(), walk.step(0), walk.step(1));
    });
  });
}

constexpr std::string_view kBinaryReal = "x: T, y: T -> z: T; T: bfloat16|float|double";
constexpr std::string_view kGradient = "y: T, dy: T -> z: T; T: bfloat16|float|double";
constexpr std::string_view kBinaryNumber =
    "x: T, y: T -> z: T; T: bfloat16|float|double|int32|int64";
constexpr std::string_view kOrder = "x: T, y: T -> z: bool; T: bfloat16|float|double|int32|int64";
constexpr std::string_view kEquality =
    "x: T, y: T -> z: bool; T: bfloat16|float|double|int8|uint8|int32|int64|bool|"
    "string; "
    "incompatible_shape_error: bool = true";
constexpr std::string_view kBits = "x: T, y: T -> z: T; T: int32|int64";
constexpr std::string_view kBinaryLogic = "x: bool, y: bool -> z: bool";

constexpr OpDef BinaryDef(std::string_view name, std::string_view signature, GradFn grad,
                          PlanFn cpu, LowerFn hlo) {
  return {.name = name,
          .signature = signature,
          .shape = BroadcastShape,
          .grad = grad,
          .cpu = cpu,
          .hlo = hlo,
          .rows = BroadcastRows,
          .flops = OutputFlops};
}

const OpDef kBinaryOps[] = {
    BinaryDef("RsqrtGrad", kGradient, GradOfRsqrtGrad, PlanBinary<Binary::kRsqrtGrad>,
              LowerRsqrtGrad),
    BinaryDef("SqrtGrad", kGradient, GradOfSqrtGrad, PlanBinary<Binary::kSqrtGrad>, LowerSqrtGrad),
    BinaryDef("SigmoidGrad", kGradient, GradOfSigmoidGrad, PlanBinary<Binary::kSigmoidGrad>,
              LowerSigmoidGrad),
    BinaryDef("TanhGrad", kGradient, GradOfTanhGrad, PlanBinary<Binary::kTanhGrad>, LowerTanhGrad),
    BinaryDef("AddV2", kBinaryNumber, AddGrad, PlanBinary<Binary::kAdd>, LowerPlainPair<"add">),
    BinaryDef("Add", kBinaryNumber, AddGrad, PlanBinary<Binary::kAdd>, LowerPlainPair<"add">),
    BinaryDef("Sub", kBinaryNumber, SubGrad, PlanBinary<Binary::kSub>, LowerPlainPair<"subtract">),
    BinaryDef("Mul", kBinaryNumber, MulGrad, PlanBinary<Binary::kMul>, LowerPlainPair<"multiply">),
    BinaryDef("RealDiv", kBinaryReal, RealDivGrad, PlanBinary<Binary::kDiv>,
              LowerPlainPair<"divide">),
    BinaryDef("DivNoNan", kBinaryReal, DivNoNanGrad, PlanBinary<Binary::kDivNoNan>, LowerDivNoNan),
    BinaryDef("Maximum", kBinaryNumber, MaximumGrad, PlanBinary<Binary::kMaximum>, LowerMaximum),
    BinaryDef("Minimum", kBinaryNumber, MinimumGrad, PlanBinary<Binary::kMinimum>, LowerMinimum),
    BinaryDef("SquaredDifference", kBinaryNumber, SquaredDifferenceGrad,
              PlanBinary<Binary::kSquaredDifference>, LowerSquaredDifference),
    BinaryDef("Pow", kBinaryNumber, PowGrad, PlanBinary<Binary::kPow>, LowerPlainPair<"power">),
    BinaryDef("FloorDiv", kBinaryNumber, NoGradient, PlanBinary<Binary::kFloorDiv>, LowerFloorDiv),
    BinaryDef("FloorMod", kBinaryNumber, FloorModGrad, PlanBinary<Binary::kFloorMod>,
              LowerFloorMod),
    BinaryDef("BitwiseAnd", kBits, NoGradient, PlanBinary<Binary::kBitAnd>, LowerPlainPair<"and">),
    BinaryDef("BitwiseXor", kBits, NoGradient, PlanBinary<Binary::kBitXor>, LowerPlainPair<"xor">),
    BinaryDef("RightShift", kBits, NoGradient, PlanBinary<Binary::kRightShift>,
              LowerPlainPair<"shift_right_arithmetic">),
    BinaryDef("Equal", kEquality, NoGradient, PlanBinary<Binary::kEqual>, LowerComparison<"EQ">),
    BinaryDef("NotEqual", kEquality, NoGradient, PlanBinary<Binary::kNotEqual>,
              LowerComparison<"NE">),
    BinaryDef("Less", kOrder, NoGradient, PlanBinary<Binary::kLess>, LowerComparison<"LT">),
    BinaryDef("LessEqual", kOrder, NoGradient, PlanBinary<Binary::kLessEqual>,
              LowerComparison<"LE">),
    BinaryDef("Greater", kOrder, NoGradient, PlanBinary<Binary::kGreater>, LowerComparison<"GT">),
    BinaryDef("GreaterEqual", kOrder, NoGradient, PlanBinary<Binary::kGreaterEqual>,
              LowerComparison<"GE">),
    BinaryDef("LogicalAnd", kBinaryLogic, NoGradient, PlanBinary<Binary::kAnd>,
              LowerPlainPair<"and">),
    BinaryDef("LogicalOr", kBinaryLogic, NoGradient, PlanBinary<Binary::kOr>, LowerPlainPair<"or">),
};

}  // namespace

OpFamily BinaryOps() { return kBinaryOps; }

}  // namespace tpuest::ops
