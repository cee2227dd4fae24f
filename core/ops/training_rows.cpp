// Adagrad and Ftrl, on whole variables and on single rows.

#include "core/graph/flops.h"
#include "core/kernels/isa/optimizer.h"
#include "core/ops/shape_rules.h"
#include "core/ops/training.h"
#include "core/ops/training_hlo.h"
#include "core/ops/update_bounds.h"
#include "core/ops/update_plan.h"

namespace tpuest::ops {
namespace {

Attrs AttrsOf(const AdagradInputs& in) { return {{"update_slots", in.update_slots}}; }
Attrs AttrsOf(const FtrlInputs& in) {
  return {{"multiply_linear_by_lr", in.multiply_linear_by_lr}};
}

}  // namespace

Node* ResourceApplyAdagrad(const AdagradInputs& in, std::string_view name) {
  return in.var.graph().AddNode("ResourceApplyAdagrad", {in.var, in.accum, in.lr, in.grad},
                                AttrsOf(in), name);
}

Node* ResourceApplyAdagradV2(const AdagradInputs& in, std::string_view name) {
  return in.var.graph().AddNode("ResourceApplyAdagradV2",
                                {in.var, in.accum, in.lr, in.epsilon, in.grad}, AttrsOf(in), name);
}

Node* ResourceApplyFtrl(const FtrlInputs& in, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceApplyFtrl", {in.var, in.accum, in.linear, in.grad, in.lr, in.l1, in.l2, in.lr_power},
      AttrsOf(in), name);
}

Node* ResourceApplyFtrlV2(const FtrlInputs& in, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceApplyFtrlV2",
      {in.var, in.accum, in.linear, in.grad, in.lr, in.l1, in.l2, in.l2_shrinkage, in.lr_power},
      AttrsOf(in), name);
}

Node* ResourceSparseApplyAdagrad(const AdagradInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode("ResourceSparseApplyAdagrad",
                                {in.var, in.accum, in.lr, in.grad, indices}, AttrsOf(in), name);
}

Node* ResourceSparseApplyAdagradV2(const AdagradInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode("ResourceSparseApplyAdagradV2",
                                {in.var, in.accum, in.lr, in.epsilon, in.grad, indices},
                                AttrsOf(in), name);
}

Node* ResourceSparseApplyFtrlV2(const FtrlInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode("ResourceSparseApplyFtrlV2",
                                {in.var, in.accum, in.linear, in.grad, indices, in.lr, in.l1, in.l2,
                                 in.l2_shrinkage, in.lr_power},
                                AttrsOf(in), name);
}

Node* ResourceSparseApplyFtrl(const FtrlInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceSparseApplyFtrl",
      {in.var, in.accum, in.linear, in.grad, indices, in.lr, in.l1, in.l2, in.lr_power},
      AttrsOf(in), name);
}

namespace {

template <class T>
void PlanAdagradOf(PlanContext& context) {
  const UpdateInputs in(context);
  const bool has_epsilon = HasInput(context.node(), "epsilon");
  const Buffer lr = in.Read("lr");
  const Buffer epsilon = has_epsilon ? in.Read("epsilon") : lr;
  const bool update_slots = context.Attr<bool>("update_slots");
  RunUpdate<T>(context, [=](const Task& task) {
    const AdagradRates<T> rates{*task.At<T>(lr), *task.At<T>(epsilon), has_epsilon, update_slots};
    return [rates](T* const* slots, const T* grad, int64_t n) {
      ApplyAdagrad(slots[0], slots[1], grad, n, rates);
    };
  });
}

template <class T>
void PlanFtrlOf(PlanContext& context) {
  const UpdateInputs in(context);
  const bool has_shrinkage = HasInput(context.node(), "l2_shrinkage");
  const Buffer lr = in.Read("lr");
  const Buffer l1 = in.Read("l1");
  const Buffer l2 = in.Read("l2");
  const Buffer lr_power = in.Read("lr_power");
  const Buffer shrinkage = has_shrinkage ? in.Read("l2_shrinkage") : l2;
  const bool multiply = context.Attr<bool>("multiply_linear_by_lr");
  RunUpdate<T>(context, [=](const Task& task) {
    const FtrlRates<T> rates{*task.At<T>(lr),       *task.At<T>(l1),
                             *task.At<T>(l2),       has_shrinkage ? *task.At<T>(shrinkage) : T(0),
                             *task.At<T>(lr_power), multiply};
    return [rates](T* const* slots, const T* grad, int64_t n) {
      ApplyFtrl(slots[0], slots[1], slots[2], grad, n, rates);
    };
  });
}

void PlanAdagrad(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanAdagradOf<T>(context); });
}
void PlanFtrl(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanFtrlOf<T>(context); });
}

constexpr OpDef TrainingRowsDef(std::string_view name, std::string_view signature, PlanFn cpu,
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

const OpDef kAdaptiveRowOps[] = {
    TrainingRowsDef("ResourceApplyAdagrad",
                    "var: resource, accum: resource, lr: T, grad: T ->; T: float|double; "
                    "use_locking: bool = false; update_slots: bool = true",
                    PlanAdagrad, LowerAdagrad, kAdagradBounds),
    TrainingRowsDef(
        "ResourceApplyAdagradV2",
        "var: resource, accum: resource, lr: T, epsilon: T, grad: T ->; T: float|double; "
        "use_locking: bool = false; update_slots: bool = true",
        PlanAdagrad, LowerAdagrad, kAdagradV2Bounds),
    TrainingRowsDef(
        "ResourceSparseApplyAdagrad",
        "var: resource, accum: resource, lr: T, grad: T, indices: Tindices ->; T: float|double; "
        "Tindices: int32|int64; use_locking: bool = false; update_slots: bool = true",
        PlanAdagrad, LowerAdagrad, kAdagradBounds),
    TrainingRowsDef(
        "ResourceSparseApplyAdagradV2",
        "var: resource, accum: resource, lr: T, epsilon: T, grad: T, indices: Tindices ->; "
        "T: float|double; Tindices: int32|int64; use_locking: bool = false; "
        "update_slots: bool = true",
        PlanAdagrad, LowerAdagrad, kAdagradV2Bounds),
    TrainingRowsDef(
        "ResourceApplyFtrl",
        "var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, "
        "lr_power: T ->; T: float|double; use_locking: bool = false; "
        "multiply_linear_by_lr: bool = false",
        PlanFtrl, LowerFtrl, kFtrlBounds),
    TrainingRowsDef(
        "ResourceApplyFtrlV2",
        "var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, "
        "l2_shrinkage: T, lr_power: T ->; T: float|double; use_locking: bool = false; "
        "multiply_linear_by_lr: bool = false",
        PlanFtrl, LowerFtrl, kFtrlV2Bounds),
    TrainingRowsDef(
        "ResourceSparseApplyFtrl",
        "var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, "
        "l1: T, l2: T, lr_power: T ->; T: float|double; Tindices: int32|int64; "
        "use_locking: bool = false; multiply_linear_by_lr: bool = false",
        PlanFtrl, LowerFtrl, kFtrlBounds),
    TrainingRowsDef(
        "ResourceSparseApplyFtrlV2",
        "var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, "
        "l1: T, l2: T, l2_shrinkage: T, lr_power: T ->; T: float|double; Tindices: int32|int64; "
        "use_locking: bool = false; multiply_linear_by_lr: bool = false",
        PlanFtrl, LowerFtrl, kFtrlV2Bounds),
};

}  // namespace

OpFamily AdaptiveRowOps() { return kAdaptiveRowOps; }

}  // namespace tpuest::ops
