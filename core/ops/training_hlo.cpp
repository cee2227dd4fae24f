#include "core/ops/training_hlo.h"

#include "core/ops/hlo_math.h"
#include "core/ops/update_plan.h"

namespace tpuest::ops {
namespace {

// The reads and writes of an update, by the names of the op's inputs. With `indices`, a slot means
// its rows in the gradient's order; index -1 means no row.
class HloUpdate {
 public:
  explicit HloUpdate(LowerContext& c) : c_(c) {}

  [[nodiscard]] bool Has(std::string_view name) const { return HasInput(c_.node(), name); }
  [[nodiscard]] HloTerm Read(std::string_view name) const {
    return {c_.hlo(), c_.Input(InputIndex(c_.node(), name))};
  }
  [[nodiscard]] HloTerm Slot(std::string_view name) const {
    const HloValue all = c_.Variable(InputIndex(c_.node(), name));
    return {c_.hlo(), Has("indices") ? c_.hlo().GatherRows(all, Indices()) : all};
  }
  void Assign(std::string_view name, const HloTerm& value) const {
    const int input = InputIndex(c_.node(), name);
    c_.Assign(input, Has("indices")
                         ? c_.hlo().ScatterRows("set", c_.Variable(input), Indices(), value.value())
                         : value.value());
  }

 private:
  [[nodiscard]] HloValue Indices() const { return Read("indices").value(); }

  LowerContext& c_;
};

// A moving average: old + (value - old) * share.
HloTerm Toward(const HloTerm& old, const HloTerm& value, const HloTerm& share) {
  return old + (value - old) * share;
}

// RMSProp's update with the mean square under its root.
void MoveByRMSProp(const HloUpdate& u, const HloTerm& mean_square) {
  const HloTerm scaled = u.Read("grad") * u.Read("lr") / SqrtOf(mean_square + u.Read("epsilon"));
  const HloTerm mom = u.Slot("mom") * u.Read("momentum") + scaled;
  u.Assign("var", u.Slot("var") - mom);
  u.Assign("mom", mom);
}

HloTerm NextMeanSquare(const HloUpdate& u) {
  return Toward(u.Slot("ms"), SquareOf(u.Read("grad")), 1.0 - u.Read("rho"));
}

}  // namespace

void LowerGradientDescent(LowerContext& c) {
  const HloUpdate u(c);
  u.Assign("var", u.Slot("var") - u.Read("delta") * u.Read("alpha"));
}

void LowerMomentum(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm lr = u.Read("lr");
  const HloTerm momentum = u.Read("momentum");
  const HloTerm grad = u.Read("grad");
  const HloTerm accum = u.Slot("accum") * momentum + grad;
  const HloTerm step =
      c.Attr<bool>("use_nesterov") ? grad * lr + accum * momentum * lr : accum * lr;
  u.Assign("var", u.Slot("var") - step);
  u.Assign("accum", accum);
}

void LowerKerasMomentum(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm momentum = u.Read("momentum");
  const HloTerm scaled = u.Read("grad") * u.Read("lr");
  const HloTerm accum = u.Slot("accum") * momentum - scaled;
  const HloTerm step = c.Attr<bool>("use_nesterov") ? accum * momentum - scaled : accum;
  u.Assign("var", u.Slot("var") + step);
  u.Assign("accum", accum);
}

void LowerAdam(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm grad = u.Read("grad");
  const HloTerm beta1 = u.Read("beta1");
  const HloTerm rate =
      u.Read("lr") * SqrtOf(1.0 - u.Read("beta2_power")) / (1.0 - u.Read("beta1_power"));
  const HloTerm m = Toward(u.Slot("m"), grad, 1.0 - beta1);
  const HloTerm v = Toward(u.Slot("v"), SquareOf(grad), 1.0 - u.Read("beta2"));
  const HloTerm sum = c.Attr<bool>("use_nesterov") ? grad * (1.0 - beta1) + beta1 * m : m;
  u.Assign("var", u.Slot("var") - sum * rate / (SqrtOf(v) + u.Read("epsilon")));
  u.Assign("m", m);
  u.Assign("v", v);
}

void LowerRMSProp(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm ms = NextMeanSquare(u);
  MoveByRMSProp(u, ms);
  u.Assign("ms", ms);
}

void LowerCenteredRMSProp(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm ms = NextMeanSquare(u);
  const HloTerm mg = Toward(u.Slot("mg"), u.Read("grad"), 1.0 - u.Read("rho"));
  MoveByRMSProp(u, ms - SquareOf(mg));
  u.Assign("ms", ms);
  u.Assign("mg", mg);
}

void LowerAdagrad(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm grad = u.Read("grad");
  const HloTerm old = u.Slot("accum");
  const HloTerm accum = c.Attr<bool>("update_slots") ? old + SquareOf(grad) : old;
  const HloTerm root = SqrtOf(accum);
  const HloTerm divisor = u.Has("epsilon") ? root + u.Read("epsilon") : root;
  u.Assign("var", u.Slot("var") - grad * u.Read("lr") / divisor);
  u.Assign("accum", accum);
}

// The slot holds linear, or linear times lr; `unit` is the factor of a gradient in it.
void LowerFtrl(LowerContext& c) {
  const HloUpdate u(c);
  const HloTerm grad = u.Read("grad");
  const HloTerm lr = u.Read("lr");
  const HloTerm power = -u.Read("lr_power");
  const HloTerm var = u.Slot("var");
  const HloTerm accum = u.Slot("accum");
  const bool multiply = c.Attr<bool>("multiply_linear_by_lr");
  const HloTerm unit = multiply ? lr : lr.Like(1);
  const HloTerm root_scale = multiply ? lr.Like(1) : 1.0 / lr;
  const HloTerm l1 = u.Read("l1") * unit;
  const HloTerm next = accum + SquareOf(grad);
  const HloTerm next_root = PowOf(next, power);
  const HloTerm shrunk_grad =
      u.Has("l2_shrinkage") ? grad + 2.0 * u.Read("l2_shrinkage") * var : grad;
  const HloTerm linear =
      u.Slot("linear") + shrunk_grad * unit - (next_root - PowOf(accum, power)) * root_scale * var;
  const HloTerm shrunk = Where(linear > 0, l1, -l1) - linear;
  const HloTerm divisor = next_root * root_scale + 2.0 * u.Read("l2") * unit;
  u.Assign("var", Where(AbsOf(linear) > l1, shrunk / divisor, 0));
  u.Assign("linear", linear);
  u.Assign("accum", next);
}

}  // namespace tpuest::ops
