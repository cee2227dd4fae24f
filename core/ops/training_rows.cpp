// Adagrad and Ftrl, on whole variables and on some of their rows.

#include "core/kernels/optimizer.h"
#include "core/ops/shape_rules.h"
#include "core/ops/state.h"
#include "core/ops/training.h"
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

Node* ResourceSparseApplyFtrl(const FtrlInputs& in, Value indices, std::string_view name) {
  return in.var.graph().AddNode(
      "ResourceSparseApplyFtrl",
      {in.var, in.accum, in.linear, in.grad, indices, in.lr, in.l1, in.l2, in.lr_power},
      AttrsOf(in), name);
}

namespace {

// The pieces of variable and gradient that belong together: all at once, or row by row.
class Pieces {
 public:
  explicit Pieces(PlanContext& context)
      : sparse_(HasInput(context.node(), "indices")),
        n_(VariableShape(context.node().input(0)).elements()),
        what_(fmt::format("{} '{}'", context.node().type(), context.node().name())) {
    if (!sparse_) return;
    const int input = InputIndex(context.node(), "indices");
    indices_ = context.Input(input);
    wide_ = context.InputDType(input) == DType::kInt64;
    count_ = context.InputShape(input).dim(0);
    rows_ = VariableShape(context.node().input(0)).dim(0);
    if (rows_ > 0) n_ /= rows_;
  }

  // fn(offset in the variable, offset in the gradient, elements).
  template <class Fn>
  void ForEach(const Task& task, Fn&& fn) const {
    if (!sparse_) return fn(int64_t{0}, int64_t{0}, n_);
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t row = wide_ ? task.At<int64_t>(indices_)[i] : task.At<int32_t>(indices_)[i];
      if (row == -1) continue;
      if (row < 0 || row >= rows_) {
        throw Error(Code::kData,
                    fmt::format("{}: index {} is outside of {} rows", what_, row, rows_));
      }
      fn(row * n_, i * n_, n_);
    }
  }

 private:
  bool sparse_;
  int64_t n_;  // elements of a piece
  std::string what_;
  Buffer indices_;
  bool wide_ = false;
  int64_t count_ = 0;
  int64_t rows_ = 0;
};

template <class T>
void PlanAdagradOf(PlanContext& context) {
  const UpdateInputs in(context);
  const Pieces pieces(context);
  const bool has_epsilon = HasInput(context.node(), "epsilon");
  const Buffer var = in.Slot("var");
  const Buffer accum = in.Slot("accum");
  const Buffer grad = in.Read("grad");
  const Buffer lr = in.Read("lr");
  const Buffer epsilon = has_epsilon ? in.Read("epsilon") : lr;
  const bool update_slots = context.Attr<bool>("update_slots");
  context.Run([=](const Task& task) {
    const AdagradRates<T> rates{*task.At<T>(lr), *task.At<T>(epsilon), has_epsilon, update_slots};
    pieces.ForEach(task, [&](int64_t at, int64_t from, int64_t n) {
      ApplyAdagrad(task.At<T>(var) + at, task.At<T>(accum) + at, task.At<T>(grad) + from, n, rates);
    });
  });
}

template <class T>
void PlanFtrlOf(PlanContext& context) {
  const UpdateInputs in(context);
  const Pieces pieces(context);
  const bool has_shrinkage = HasInput(context.node(), "l2_shrinkage");
  const Buffer var = in.Slot("var");
  const Buffer accum = in.Slot("accum");
  const Buffer linear = in.Slot("linear");
  const Buffer grad = in.Read("grad");
  const Buffer lr = in.Read("lr");
  const Buffer l1 = in.Read("l1");
  const Buffer l2 = in.Read("l2");
  const Buffer lr_power = in.Read("lr_power");
  const Buffer shrinkage = has_shrinkage ? in.Read("l2_shrinkage") : l2;
  const bool multiply = context.Attr<bool>("multiply_linear_by_lr");
  context.Run([=](const Task& task) {
    const FtrlRates<T> rates{*task.At<T>(lr),       *task.At<T>(l1),
                             *task.At<T>(l2),       has_shrinkage ? *task.At<T>(shrinkage) : T(0),
                             *task.At<T>(lr_power), multiply};
    pieces.ForEach(task, [&](int64_t at, int64_t from, int64_t n) {
      ApplyFtrl(task.At<T>(var) + at, task.At<T>(accum) + at, task.At<T>(linear) + at,
                task.At<T>(grad) + from, n, rates);
    });
  });
}

void PlanAdagrad(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanAdagradOf<T>(context); });
}
void PlanFtrl(PlanContext& context) {
  PlanByType(context, [&]<class T>() { PlanFtrlOf<T>(context); });
}

constexpr OpDef Def(std::string_view name, std::string_view signature, PlanFn cpu) {
  return {.name = name,
          .signature = signature,
          .shape = UpdateShape,
          .grad = NoGradient,
          .cpu = cpu,
          .stateful = true};
}

const OpDef kAdaptiveRowOps[] = {
    Def("ResourceApplyAdagrad",
        "var: resource, accum: resource, lr: T, grad: T ->; T: float|double; "
        "use_locking: bool = false; update_slots: bool = true",
        PlanAdagrad),
    Def("ResourceApplyAdagradV2",
        "var: resource, accum: resource, lr: T, epsilon: T, grad: T ->; T: float|double; "
        "use_locking: bool = false; update_slots: bool = true",
        PlanAdagrad),
    Def("ResourceSparseApplyAdagrad",
        "var: resource, accum: resource, lr: T, grad: T, indices: Tindices ->; T: float|double; "
        "Tindices: int32|int64; use_locking: bool = false; update_slots: bool = true",
        PlanAdagrad),
    Def("ResourceApplyFtrl",
        "var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, "
        "lr_power: T ->; T: float|double; use_locking: bool = false; "
        "multiply_linear_by_lr: bool = false",
        PlanFtrl),
    Def("ResourceApplyFtrlV2",
        "var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, "
        "l2_shrinkage: T, lr_power: T ->; T: float|double; use_locking: bool = false; "
        "multiply_linear_by_lr: bool = false",
        PlanFtrl),
    Def("ResourceSparseApplyFtrl",
        "var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, "
        "l1: T, l2: T, lr_power: T ->; T: float|double; Tindices: int32|int64; "
        "use_locking: bool = false; multiply_linear_by_lr: bool = false",
        PlanFtrl),
};

}  // namespace

OpFamily AdaptiveRowOps() { return kAdaptiveRowOps; }

}  // namespace tpuest::ops
