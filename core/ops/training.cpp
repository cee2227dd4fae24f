#include "core/ops/training.h"

#include <cmath>

#include "core/graph/flops.h"
#include "core/kernels/isa/optimizer.h"
#include "core/ops/shape_rules.h"
#include "core/ops/training_hlo.h"
#include "core/ops/update_bounds.h"
#include "core/ops/update_plan.h"

namespace tpuest::ops {

Node* ResourceApplyGradientDescent(Value var, Value alpha, Value delta, std::string_view name) {
  return var.graph().AddNode("ResourceApplyGradientDescent", {var, alpha, delta}, {}, name);
}

Node* ResourceApplyMomentum(const MomentumInputs& in, std::string_view name) {
  return in.var.graph().AddNode("ResourceApplyMomentum",
                                {in.var, in.accum, in.lr, in.grad, in.momentum},
                                {{"use_nesterov", in.use_nesterov}}, name);
}

Node* ResourceApplyKerasMomentum(const MomentumInputs& in, std::string_view name) {
  return in.var.graph().AddNode("ResourceApplyKerasMomentum",
                                {in.var, in.accum, in.lr, in.grad, in.momentum},
                                {{"use_nesterov", in.use_nesterov}}, name);
}

Node* ResourceSparseApplyMomentum(const MomentumInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode("ResourceSparseApplyMomentum",
                                {in.var, in.accum, in.lr, in.grad, indices, in.momentum},
                                {{"use_nesterov", in.use_nesterov}}, name);
}

Node* ResourceSparseApplyKerasMomentum(const MomentumInputs& in, Value indices,
                                       std::string_view name) {
  return in.var.graph().AddNode("ResourceSparseApplyKerasMomentum",
                                {in.var, in.accum, in.lr, in.grad, indices, in.momentum},
                                {{"use_nesterov", in.use_nesterov}}, name);
}

Node* ResourceApplyAdam(const AdamInputs& in, std::string_view name) {
  return in.var.graph().AddNode("ResourceApplyAdam",
                                {in.var, in.m, in.v, in.beta1_power, in.beta2_power, in.lr,
                                 in.beta1, in.beta2, in.epsilon, in.grad},
                                {{"use_nesterov", in.use_nesterov}}, name);
}

Node* ResourceApplyRMSProp(const RMSPropInputs& in, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceApplyRMSProp",
      {in.var, in.ms, in.mom, in.lr, in.rho, in.momentum, in.epsilon, in.grad}, {}, name);
}

Node* ResourceApplyCenteredRMSProp(const RMSPropInputs& in, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceApplyCenteredRMSProp",
      {in.var, in.mg, in.ms, in.mom, in.lr, in.rho, in.momentum, in.epsilon, in.grad}, {}, name);
}

Node* ResourceSparseApplyRMSProp(const RMSPropInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceSparseApplyRMSProp",
      {in.var, in.ms, in.mom, in.lr, in.rho, in.momentum, in.epsilon, in.grad, indices}, {}, name);
}

Node* ResourceSparseApplyCenteredRMSProp(const RMSPropInputs& in, Value indices,
                                         std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceSparseApplyCenteredRMSProp",
      {in.var, in.mg, in.ms, in.mom, in.lr, in.rho, in.momentum, in.epsilon, in.grad, indices}, {},
      name);
}

namespace {

template <class T>
void PlanGradientDescentOf(PlanContext& context) {
  const UpdateInputs in(context);
  const Buffer var = in.Slot("var");
  const Buffer grad = in.Read("delta");
  const Buffer alpha = in.Read("alpha");
  const int64_t n = in.Elements("delta");
  context.RunRanges(n, [=](const Task& task, int64_t begin, int64_t end) {
    ApplyGradientDescent(task.At<T>(var) + begin, task.At<T>(grad) + begin, end - begin,
                         *task.At<T>(alpha));
  });
}

// kApply is ApplyMomentum or ApplyKerasMomentum, on a whole variable or on its rows.
template <class T, auto kApply>
void PlanMomentumOf(PlanContext& context) {
  const UpdateInputs in(context);
  const Buffer lr = in.Read("lr");
  const Buffer momentum = in.Read("momentum");
  const bool nesterov = context.Attr<bool>("use_nesterov");
  RunUpdate<T>(context, [=](const Task& task) {
    const MomentumRates<T> rates{*task.At<T>(lr), *task.At<T>(momentum), nesterov};
    return [rates](T* const* slots, const T* grad, int64_t n) {
      kApply(slots[0], slots[1], grad, n, rates);
    };
  });
}

template <class T>
void PlanAdamOf(PlanContext& context) {
  const UpdateInputs in(context);
  const Buffer var = in.Slot("var");
  const Buffer m = in.Slot("m");
  const Buffer v = in.Slot("v");
  const Buffer grad = in.Read("grad");
  const Buffer lr = in.Read("lr");
  const Buffer beta1 = in.Read("beta1");
  const Buffer beta2 = in.Read("beta2");
  const Buffer beta1_power = in.Read("beta1_power");
  const Buffer beta2_power = in.Read("beta2_power");
  const Buffer epsilon = in.Read("epsilon");
  const int64_t n = in.Elements("grad");
  const bool nesterov = context.Attr<bool>("use_nesterov");
  context.RunRanges(n, [=](const Task& task, int64_t begin, int64_t end) {
    const T rate = *task.At<T>(lr) * std::sqrt(T(1) - *task.At<T>(beta2_power)) /
                   (T(1) - *task.At<T>(beta1_power));
    ApplyAdam(task.At<T>(var) + begin, task.At<T>(m) + begin, task.At<T>(v) + begin,
              task.At<T>(grad) + begin, end - begin,
              {rate, *task.At<T>(beta1), *task.At<T>(beta2), *task.At<T>(epsilon), nesterov});
  });
}

// The scalars of both RMSProp ops.
struct RMSPropBuffers {
  explicit RMSPropBuffers(const UpdateInputs& in)
      : lr(in.Read("lr")),
        rho(in.Read("rho")),
        momentum(in.Read("momentum")),
        epsilon(in.Read("epsilon")) {}
  template <class T>
  [[nodiscard]] RMSPropRates<T> At(const Task& task) const {
    return {*task.At<T>(lr), *task.At<T>(rho), *task.At<T>(momentum), *task.At<T>(epsilon)};
  }
  Buffer lr, rho, momentum, epsilon;
};

template <class T>
void PlanRMSPropOf(PlanContext& context) {
  const RMSPropBuffers buffers{UpdateInputs(context)};
  RunUpdate<T>(context, [=](const Task& task) {
    return [rates = buffers.At<T>(task)](T* const* slots, const T* grad, int64_t n) {
      ApplyRMSProp(slots[0], slots[1], slots[2], grad, n, rates);
    };
  });
}

template <class T>
void PlanCenteredRMSPropOf(PlanContext& context) {
  const RMSPropBuffers buffers{UpdateInputs(context)};
  RunUpdate<T>(context, [=](const Task& task) {
    return [rates = buffers.At<T>(task)](T* const* slots, const T* grad, int64_t n) {
      ApplyCenteredRMSProp(slots[0], slots[1], slots[2], slots[3], grad, n, rates);
    };
  });
}

void PlanGradientDescent(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanGradientDescentOf<T>(context); });
}
void PlanMomentum(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanMomentumOf<T, ApplyMomentum<T>>(context); });
}
void PlanKerasMomentum(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanMomentumOf<T, ApplyKerasMomentum<T>>(context); });
}
void PlanAdam(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanAdamOf<T>(context); });
}
void PlanRMSProp(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanRMSPropOf<T>(context); });
}
void PlanCenteredRMSProp(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanCenteredRMSPropOf<T>(context); });
}

constexpr OpDef TrainingDef(std::string_view name, std::string_view signature, PlanFn cpu,
                            LowerFn hlo, const UpdateBounds& bounds) {
  return {.name = name,
          .signature = signature,
          .shape = UpdateShape,
          .grad = NoGradient,
          .cpu = cpu,
          .hlo = hlo,
          .flops = InputFlops,
          .stateful = true,
          .writes = true,
          .bounds = &bounds};
}

const OpDef kTrainingOps[] = {
    TrainingDef("ResourceApplyGradientDescent",
                "var: resource, alpha: T, delta: T ->; T: float|double; use_locking: bool = false",
                PlanGradientDescent, LowerGradientDescent, kGradientDescentBounds),
    TrainingDef("ResourceApplyMomentum",
                "var: resource, accum: resource, lr: T, grad: T, momentum: T ->; T: float|double; "
                "use_locking: bool = false; use_nesterov: bool = false",
                PlanMomentum, LowerMomentum, kMomentumBounds),
    TrainingDef("ResourceApplyKerasMomentum",
                "var: resource, accum: resource, lr: T, grad: T, momentum: T ->; T: float|double; "
                "use_locking: bool = false; use_nesterov: bool = false",
                PlanKerasMomentum, LowerKerasMomentum, kMomentumBounds),
    TrainingDef(
        "ResourceSparseApplyMomentum",
        "var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T ->; "
        "T: float|double; Tindices: int32|int64; use_locking: bool = false; "
        "use_nesterov: bool = false",
        PlanMomentum, LowerMomentum, kMomentumBounds),
    TrainingDef(
        "ResourceSparseApplyKerasMomentum",
        "var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T ->; "
        "T: float|double; Tindices: int32|int64; use_locking: bool = false; "
        "use_nesterov: bool = false",
        PlanKerasMomentum, LowerKerasMomentum, kMomentumBounds),
    TrainingDef("ResourceApplyAdam",
                "var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, "
                "beta1: T, beta2: T, epsilon: T, grad: T ->; T: float|double; "
                "use_locking: bool = false; use_nesterov: bool = false",
                PlanAdam, LowerAdam, kAdamBounds),
    TrainingDef(
        "ResourceApplyRMSProp",
        "var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
        "grad: T ->; T: float|double; use_locking: bool = false",
        PlanRMSProp, LowerRMSProp, kRMSPropBounds),
    TrainingDef(
        "ResourceApplyCenteredRMSProp",
        "var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
        "epsilon: T, grad: T ->; T: float|double; use_locking: bool = false",
        PlanCenteredRMSProp, LowerCenteredRMSProp, kCenteredRMSPropBounds),
    TrainingDef(
        "ResourceSparseApplyRMSProp",
        "var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
        "grad: T, indices: Tindices ->; T: float|double; Tindices: int32|int64; "
        "use_locking: bool = false",
        PlanRMSProp, LowerRMSProp, kRMSPropBounds),
    TrainingDef(
        "ResourceSparseApplyCenteredRMSProp",
        "var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
        "epsilon: T, grad: T, indices: Tindices ->; T: float|double; Tindices: int32|int64; "
        "use_locking: bool = false",
        PlanCenteredRMSProp, LowerCenteredRMSProp, kCenteredRMSPropBounds),
};

}  // namespace

OpFamily TrainingOps() { return kTrainingOps; }

}  // namespace tpuest::ops
