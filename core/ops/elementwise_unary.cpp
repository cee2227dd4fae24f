// Functions of one argument.

#include <cmath>
#include <numbers>

#include "core/graph/flops.h"
#include "core/kernels/isa/cast.h"
#include "core/kernels/isa/unary.h"
#include "core/ops/elementwise.h"
#include "core/ops/elementwise_hlo.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value Neg(Value x, std::string_view name) { return x.graph().Add("Neg", {x}, {}, name); }
Value Exp(Value x, std::string_view name) { return x.graph().Add("Exp", {x}, {}, name); }
Value Log(Value x, std::string_view name) { return x.graph().Add("Log", {x}, {}, name); }
Value Log1p(Value x, std::string_view name) { return x.graph().Add("Log1p", {x}, {}, name); }
Value Expm1(Value x, std::string_view name) { return x.graph().Add("Expm1", {x}, {}, name); }
Value Sqrt(Value x, std::string_view name) { return x.graph().Add("Sqrt", {x}, {}, name); }
Value Rsqrt(Value x, std::string_view name) { return x.graph().Add("Rsqrt", {x}, {}, name); }
Value Square(Value x, std::string_view name) { return x.graph().Add("Square", {x}, {}, name); }
Value Abs(Value x, std::string_view name) { return x.graph().Add("Abs", {x}, {}, name); }
Value Sign(Value x, std::string_view name) { return x.graph().Add("Sign", {x}, {}, name); }
Value Floor(Value x, std::string_view name) { return x.graph().Add("Floor", {x}, {}, name); }
Value Ceil(Value x, std::string_view name) { return x.graph().Add("Ceil", {x}, {}, name); }
Value Round(Value x, std::string_view name) { return x.graph().Add("Round", {x}, {}, name); }
Value Sin(Value x, std::string_view name) { return x.graph().Add("Sin", {x}, {}, name); }
Value Cos(Value x, std::string_view name) { return x.graph().Add("Cos", {x}, {}, name); }
Value Reciprocal(Value x, std::string_view name) {
  return x.graph().Add("Reciprocal", {x}, {}, name);
}
Value Sigmoid(Value x, std::string_view name) { return x.graph().Add("Sigmoid", {x}, {}, name); }
Value Tanh(Value x, std::string_view name) { return x.graph().Add("Tanh", {x}, {}, name); }
Value Erf(Value x, std::string_view name) { return x.graph().Add("Erf", {x}, {}, name); }
Value IsFinite(Value x, std::string_view name) { return x.graph().Add("IsFinite", {x}, {}, name); }
Value IsNan(Value x, std::string_view name) { return x.graph().Add("IsNan", {x}, {}, name); }
Value LogicalNot(Value x, std::string_view name) {
  return x.graph().Add("LogicalNot", {x}, {}, name);
}
Value Cast(Value x, DType dtype, std::string_view name) {
  if (x.dtype() == dtype) return x;
  return x.graph().Add("Cast", {x}, {{"DstT", dtype}}, name);
}

namespace {

void NegGrad(GradContext& c) { c.SetDx(0, Neg(c.Dy())); }
void ExpGrad(GradContext& c) { c.SetDx(0, Mul(c.Dy(), c.output(0))); }
void LogGrad(GradContext& c) { c.SetDx(0, RealDiv(c.Dy(), c.input(0))); }
void Log1pGrad(GradContext& c) { c.SetDx(0, RealDiv(c.Dy(), AddV2(c.input(0), 1.0))); }
void Expm1Grad(GradContext& c) { c.SetDx(0, Mul(c.Dy(), AddV2(c.output(0), 1.0))); }
void GradOfSqrt(GradContext& c) { c.SetDx(0, SqrtGrad(c.output(0), c.Dy())); }
void GradOfRsqrt(GradContext& c) { c.SetDx(0, RsqrtGrad(c.output(0), c.Dy())); }
void SquareGrad(GradContext& c) { c.SetDx(0, Mul(c.Dy(), Mul(c.input(0), 2.0))); }
void AbsGrad(GradContext& c) { c.SetDx(0, Mul(c.Dy(), Sign(c.input(0)))); }
void SinGrad(GradContext& c) { c.SetDx(0, Mul(c.Dy(), Cos(c.input(0)))); }
void CosGrad(GradContext& c) { c.SetDx(0, Neg(Mul(c.Dy(), Sin(c.input(0))))); }
void ReciprocalGrad(GradContext& c) { c.SetDx(0, Neg(Mul(c.Dy(), Square(c.output(0))))); }
void GradOfSigmoid(GradContext& c) { c.SetDx(0, SigmoidGrad(c.output(0), c.Dy())); }
void GradOfTanh(GradContext& c) { c.SetDx(0, TanhGrad(c.output(0), c.Dy())); }
// d/dx erf(x) = 2 / sqrt(pi) exp(-x^2).
void ErfGrad(GradContext& c) {
  const Value slope = Mul(Exp(Neg(Square(c.input(0)))), 2.0 * std::numbers::inv_sqrtpi);
  c.SetDx(0, Mul(c.Dy(), slope));
}
void CastGrad(GradContext& c) {
  const DType from = c.input(0).dtype();
  if (IsFloating(from) && IsFloating(c.Dy().dtype())) c.SetDx(0, Cast(c.Dy(), from));
}

void PlanLoop(PlanContext& context, void (*loop)(const void*, void*, size_t)) {
  Check(loop != nullptr, "{} has no kernel for {}", context.node().type(),
        NameOf(context.InputDType(0)));
  AllowInPlaceOfSame(context);
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const auto x_bytes = static_cast<int64_t>(SizeOf(context.InputDType(0)));
  const auto y_bytes = static_cast<int64_t>(SizeOf(context.OutputDType(0)));
  context.RunRanges(context.OutputShape(0).elements(),
                    [=](const Task& task, int64_t begin, int64_t end) {
                      loop(task.At<char>(x) + begin * x_bytes, task.At<char>(y) + begin * y_bytes,
                           static_cast<size_t>(end - begin));
                    });
}

template <Unary op>
void PlanUnary(PlanContext& context) {
  PlanLoop(context, FindUnary(op, context.InputDType(0)));
}

void PlanCast(PlanContext& context) {
  const DType from = context.InputDType(0);
  const DType to = context.OutputDType(0);
  if (from == to) return context.Alias(0, 0);
  PlanLoop(context, FindCast(from, to));
}

constexpr std::string_view kUnaryReal = "x: T -> y: T; T: bfloat16|float|double";
constexpr std::string_view kUnaryNumber = "x: T -> y: T; T: bfloat16|float|double|int32|int64";
constexpr std::string_view kClaim = "x: T -> y: bool; T: bfloat16|float|double";

constexpr OpDef UnaryDef(std::string_view name, std::string_view signature, GradFn grad, PlanFn cpu,
                         LowerFn hlo) {
  return {.name = name,
          .signature = signature,
          .shape = FirstInputShape,
          .grad = grad,
          .cpu = cpu,
          .hlo = hlo,
          .rows = FirstInputRows,
          .flops = OutputFlops};
}

// The result is a view of x if the dtype stays the same.
constexpr OpDef CastDef() {
  OpDef def =
      UnaryDef("Cast",
               "x: SrcT -> y: DstT; SrcT: bfloat16|float|double|int8|uint8|int16|uint16|int32|"
               "uint32|int64|uint64|bool; DstT: bfloat16|float|double|int8|uint8|int16|"
               "uint16|int32|uint32|int64|uint64|bool; Truncate: bool = false",
               CastGrad, PlanCast, LowerCast);
  def.alias = true;
  def.converts = true;
  return def;
}

const OpDef kUnaryOps[] = {
    UnaryDef("Neg", kUnaryNumber, NegGrad, PlanUnary<Unary::kNeg>, LowerPlain<"negate">),
    UnaryDef("Exp", kUnaryReal, ExpGrad, PlanUnary<Unary::kExp>, LowerPlain<"exponential">),
    UnaryDef("Log", kUnaryReal, LogGrad, PlanUnary<Unary::kLog>, LowerPlain<"log">),
    UnaryDef("Log1p", kUnaryReal, Log1pGrad, PlanUnary<Unary::kLog1p>, LowerPlain<"log_plus_one">),
    UnaryDef("Expm1", kUnaryReal, Expm1Grad, PlanUnary<Unary::kExpm1>,
             LowerPlain<"exponential_minus_one">),
    UnaryDef("Sqrt", kUnaryReal, GradOfSqrt, PlanUnary<Unary::kSqrt>, LowerPlain<"sqrt">),
    UnaryDef("Rsqrt", kUnaryReal, GradOfRsqrt, PlanUnary<Unary::kRsqrt>, LowerPlain<"rsqrt">),
    UnaryDef("Square", kUnaryNumber, SquareGrad, PlanUnary<Unary::kSquare>, LowerSquare),
    UnaryDef("Abs", kUnaryNumber, AbsGrad, PlanUnary<Unary::kAbs>, LowerPlain<"abs">),
    UnaryDef("Sign", kUnaryNumber, NoGradient, PlanUnary<Unary::kSign>, LowerPlain<"sign">),
    UnaryDef("Floor", kUnaryReal, NoGradient, PlanUnary<Unary::kFloor>, LowerPlain<"floor">),
    UnaryDef("Ceil", kUnaryReal, NoGradient, PlanUnary<Unary::kCeil>, LowerPlain<"ceil">),
    UnaryDef("Round", kUnaryNumber, NoGradient, PlanUnary<Unary::kRound>, LowerRound),
    UnaryDef("Sin", kUnaryReal, SinGrad, PlanUnary<Unary::kSin>, LowerPlain<"sine">),
    UnaryDef("Cos", kUnaryReal, CosGrad, PlanUnary<Unary::kCos>, LowerPlain<"cosine">),
    UnaryDef("Reciprocal", kUnaryReal, ReciprocalGrad, PlanUnary<Unary::kReciprocal>,
             LowerReciprocal),
    UnaryDef("Sigmoid", kUnaryReal, GradOfSigmoid, PlanUnary<Unary::kSigmoid>,
             LowerPlain<"logistic">),
    UnaryDef("Tanh", kUnaryReal, GradOfTanh, PlanUnary<Unary::kTanh>, LowerPlain<"tanh">),
    UnaryDef("Erf", kUnaryReal, ErfGrad, PlanUnary<Unary::kErf>, LowerErf),
    UnaryDef("IsFinite", kClaim, NoGradient, PlanUnary<Unary::kIsFinite>, LowerIsFinite),
    UnaryDef("IsNan", kClaim, NoGradient, PlanUnary<Unary::kIsNan>, LowerIsNan),
    UnaryDef("LogicalNot", "x: bool -> y: bool", NoGradient, PlanUnary<Unary::kLogicalNot>,
             LowerPlain<"not">),
    CastDef(),
};

}  // namespace

OpFamily UnaryOps() { return kUnaryOps; }

}  // namespace tpuest::ops
