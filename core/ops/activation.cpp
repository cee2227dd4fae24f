#include "core/ops/activation.h"

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/isa/activation.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_math.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

float AlphaOf(const Node& node) { return node.HasAttr("alpha") ? node.Attr<float>("alpha") : 0.0F; }

Attrs AlphaAttr(const Node& node) {
  return node.HasAttr("alpha") ? Attrs{{"alpha", AlphaOf(node)}} : Attrs{};
}

// The name of an activation's gradient op: "ReluGrad" for "Relu".
std::string GradOp(const Node& node) { return std::string(node.type()) + "Grad"; }

// The gradient of activations whose gradient op reads the result, which is needed later anyway.
void GradFromResult(GradContext& c) {
  c.SetDx(0, c.graph().Add(GradOp(c.node()), {c.Dy(), c.output(0)}, AlphaAttr(c.node())));
}

void GradFromArgument(GradContext& c) {
  c.SetDx(0, c.graph().Add(GradOp(c.node()), {c.Dy(), c.input(0)}, AlphaAttr(c.node())));
}

// dx = dy f'(x) is linear in dy; f'' is 0 for piecewise linear functions.
void GradOfLines(GradContext& c) {
  c.SetDx(0, c.graph().Add(c.node().type(), {c.Dy(), c.input(1)}, AlphaAttr(c.node())));
  c.SetDx(1, Mul(c.Dy(), 0.0));
}

template <Activation kKind>
void PlanActivation(PlanContext& context) {
  const ActivationKernel kernel = FindActivation(kKind, context.OutputDType(0));
  const auto n = static_cast<size_t>(context.OutputShape(0).elements());
  const float alpha = AlphaOf(context.node());
  context.AllowInPlace(0, 0);
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  context.Run([=](const Task& task) { kernel(task.At(x), task.At(y), n, alpha); });
}

template <Activation kKind>
void PlanGrad(PlanContext& context) {
  const ActivationGradKernel kernel = FindActivationGrad(kKind, context.OutputDType(0));
  const auto n = static_cast<size_t>(context.OutputShape(0).elements());
  const float alpha = AlphaOf(context.node());
  AllowInPlaceOfSame(context);
  const Buffer dy = context.Input(0);
  const Buffer at = context.Input(1);
  const Buffer dx = context.Output(0);
  context.Run([=](const Task& task) { kernel(task.At(dy), task.At(at), task.At(dx), n, alpha); });
}

// Klambauer et al. 2017, appendix A1: scale and scale * alpha.
constexpr double kSeluScale = 1.0507009873554805;
constexpr double kSeluScaleAlpha = 1.7580993408473766;

// The kernels' formulas. Comparisons let a NaN fall through to x.
HloTerm Activated(Activation kind, const HloTerm& x, float alpha) {
  switch (kind) {
    case Activation::kRelu:
      return Where(x <= 0, 0, x);
    case Activation::kRelu6:
      return Where(x <= 0, 0, Where(x >= 6, 6, x));
    case Activation::kElu:
      return Where(x < 0, Expm1Of(x), x);
    case Activation::kSelu:
      return Where(x < 0, kSeluScaleAlpha * Expm1Of(x), kSeluScale * x);
    case Activation::kLeakyRelu:
      return Where(x > 0, x, alpha * x);
    case Activation::kSoftplus:
      return MaxOf(x, 0) + Log1pOf(ExpOf(-AbsOf(x)));
    case Activation::kSoftsign:
      break;
  }
  return x / (1.0 + AbsOf(x));
}

HloTerm ActivatedGrad(Activation kind, const HloTerm& dy, const HloTerm& at, float alpha) {
  switch (kind) {
    case Activation::kRelu:
      return Where(at > 0, dy, 0);
    case Activation::kRelu6:
      return Where(Both(at > 0, at < 6), dy, 0);
    case Activation::kElu:
      return Where(at < 0, (at + 1) * dy, dy);
    case Activation::kSelu:
      return Where(at < 0, dy * (at + kSeluScaleAlpha), dy * kSeluScale);
    case Activation::kLeakyRelu:
      return Where(at > 0, dy, alpha * dy);
    case Activation::kSoftplus:
      return dy / (1.0 + ExpOf(-at));
    case Activation::kSoftsign:
      break;
  }
  return dy / SquareOf(1.0 + AbsOf(at));
}

template <Activation kKind>
void LowerActivation(LowerContext& c) {
  const HloTerm y = Activated(kKind, WideInput(c, 0), AlphaOf(c.node()));
  c.Output(0, y.As(c.OutputDType(0)).value());
}

template <Activation kKind>
void LowerGrad(LowerContext& c) {
  const HloTerm dx = ActivatedGrad(kKind, WideInput(c, 0), WideInput(c, 1), AlphaOf(c.node()));
  c.Output(0, dx.As(c.OutputDType(0)).value());
}

constexpr std::string_view kActivation = "features: T -> activations: T; T: bfloat16|float|double";
constexpr std::string_view kFeatures =
    "gradients: T, features: T -> backprops: T; T: bfloat16|float|double";
constexpr std::string_view kOutputs =
    "gradients: T, outputs: T -> backprops: T; T: bfloat16|float|double";

constexpr OpDef Forward(std::string_view name, GradFn grad, PlanFn cpu, LowerFn hlo,
                        std::string_view signature = kActivation) {
  return {.name = name,
          .signature = signature,
          .shape = FirstInputShape,
          .grad = grad,
          .cpu = cpu,
          .hlo = hlo,
          .rows = FirstInputRows,
          .flops = OutputFlops};
}

constexpr OpDef Grad(std::string_view name, std::string_view signature, GradFn grad, PlanFn cpu,
                     LowerFn hlo) {
  return {.name = name,
          .signature = signature,
          .shape = SameInputsShape,
          .grad = grad,
          .cpu = cpu,
          .hlo = hlo,
          .rows = BroadcastRows,
          .flops = OutputFlops};
}

const OpDef kActivationOps[] = {
    Forward("Relu", GradFromResult, PlanActivation<Activation::kRelu>,
            LowerActivation<Activation::kRelu>),
    Grad("ReluGrad", kFeatures, GradOfLines, PlanGrad<Activation::kRelu>,
         LowerGrad<Activation::kRelu>),
    Forward("Relu6", GradFromResult, PlanActivation<Activation::kRelu6>,
            LowerActivation<Activation::kRelu6>),
    Grad("Relu6Grad", kFeatures, GradOfLines, PlanGrad<Activation::kRelu6>,
         LowerGrad<Activation::kRelu6>),
    Forward("Elu", GradFromResult, PlanActivation<Activation::kElu>,
            LowerActivation<Activation::kElu>),
    Grad("EluGrad", kOutputs, NoSecondGradient, PlanGrad<Activation::kElu>,
         LowerGrad<Activation::kElu>),
    Forward("Selu", GradFromResult, PlanActivation<Activation::kSelu>,
            LowerActivation<Activation::kSelu>),
    Grad("SeluGrad", kOutputs, NoSecondGradient, PlanGrad<Activation::kSelu>,
         LowerGrad<Activation::kSelu>),
    Forward("LeakyRelu", GradFromArgument, PlanActivation<Activation::kLeakyRelu>,
            LowerActivation<Activation::kLeakyRelu>,
            "features: T -> activations: T; alpha: float = 0.2; T: bfloat16|float|double"),
    Grad("LeakyReluGrad",
         "gradients: T, features: T -> backprops: T; alpha: float = 0.2; "
         "T: bfloat16|float|double",
         GradOfLines, PlanGrad<Activation::kLeakyRelu>, LowerGrad<Activation::kLeakyRelu>),
    Forward("Softplus", GradFromArgument, PlanActivation<Activation::kSoftplus>,
            LowerActivation<Activation::kSoftplus>),
    Grad("SoftplusGrad", kFeatures, NoSecondGradient, PlanGrad<Activation::kSoftplus>,
         LowerGrad<Activation::kSoftplus>),
    Forward("Softsign", GradFromArgument, PlanActivation<Activation::kSoftsign>,
            LowerActivation<Activation::kSoftsign>),
    Grad("SoftsignGrad", kFeatures, NoSecondGradient, PlanGrad<Activation::kSoftsign>,
         LowerGrad<Activation::kSoftsign>),
};

}  // namespace

Value Relu(Value x, std::string_view name) { return x.graph().Add("Relu", {x}, {}, name); }
Value Relu6(Value x, std::string_view name) { return x.graph().Add("Relu6", {x}, {}, name); }
Value Elu(Value x, std::string_view name) { return x.graph().Add("Elu", {x}, {}, name); }
Value Selu(Value x, std::string_view name) { return x.graph().Add("Selu", {x}, {}, name); }
Value LeakyRelu(Value x, float alpha, std::string_view name) {
  return x.graph().Add("LeakyRelu", {x}, {{"alpha", alpha}}, name);
}
Value Softplus(Value x, std::string_view name) { return x.graph().Add("Softplus", {x}, {}, name); }
Value Softsign(Value x, std::string_view name) { return x.graph().Add("Softsign", {x}, {}, name); }

OpFamily ActivationOps() { return kActivationOps; }

}  // namespace tpuest::ops
