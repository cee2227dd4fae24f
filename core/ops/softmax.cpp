#include "core/ops/softmax.h"

#include <limits>

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/isa/softmax.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_math.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

// dx = y (dy - sum(dy y)).
void SoftmaxGrad(GradContext& c) {
  const Value y = c.output(0);
  const Value dot = Sum(Mul(c.Dy(), y), {-1}, /*keep_dims=*/true);
  c.SetDx(0, Mul(Sub(c.Dy(), dot), y));
}

// dx = dy - softmax sum(dy).
void LogSoftmaxGrad(GradContext& c) {
  const Value sum = Sum(c.Dy(), {-1}, /*keep_dims=*/true);
  c.SetDx(0, Sub(c.Dy(), Mul(sum, Exp(c.output(0)))));
}

// The op computes the gradient of each row together with its loss (output 1).
Value LogitsGrad(GradContext& c) {
  if (!c.Dy(0).valid() || c.Dy(1).valid()) NoSecondGradient(c);
  return Mul(ExpandDims(c.Dy(0), -1), c.output(1));
}

void SparseLossGrad(GradContext& c) { c.SetDx(0, LogitsGrad(c)); }

void LossGrad(GradContext& c) {
  c.SetDx(0, SumToShapeOf(LogitsGrad(c), c.input(0)));
  const Value per_label = Neg(LogSoftmax(c.input(0)));
  c.SetDx(1, SumToShapeOf(Mul(ExpandDims(c.Dy(0), -1), per_label), c.input(1)));
}

void SoftmaxShape(ShapeContext& c) {
  if (c.Input(0).known_rank() && c.Input(0).rank() < 1) c.Fail("takes [..., K], found a scalar");
  c.Output(0, c.Input(0));
}

void SparseLossShape(ShapeContext& c) {
  NeedRank(c, c.Input(0), 2, "logits [N, K]");
  NeedRank(c, c.Input(1), 1, "labels [N]");
  Shape logits = c.Input(0).known_rank() ? c.Input(0) : Shape({kUnknownDim, kUnknownDim});
  const auto rows = MergeOf({logits.dim(0)}, c.Input(1));
  if (!rows) {
    c.Fail(fmt::format("logits are {} and labels {}: the number of rows differs", logits.Text(),
                       c.Input(1).Text()));
  }
  logits.set_dim(0, rows->dim(0));
  c.Output(0, *rows);
  c.Output(1, logits);
}

void LossShape(ShapeContext& c) {
  for (const int i : {0, 1}) NeedRank(c, c.Input(i), 2, i == 0 ? "logits [N, K]" : "labels [N, K]");
  const auto merged = BroadcastOf(c.Input(0), c.Input(1));
  if (!merged) {
    c.Fail(fmt::format("logits are {} and labels {}", c.Input(0).Text(), c.Input(1).Text()));
  }
  const Shape both = merged->known_rank() ? *merged : Shape({kUnknownDim, kUnknownDim});
  for (const int i : {0, 1}) {
    const Shape& shape = c.Input(i);
    if (shape.known_rank() && !Compatible({shape.dim(1)}, {both.dim(1)})) {
      c.Fail(fmt::format("logits are {} and labels {}: the number of classes differs",
                         c.Input(0).Text(), c.Input(1).Text()));
    }
  }
  c.Output(0, {both.dim(0)});
  c.Output(1, both);
}

Rows SoftmaxRows(RowContext& c) { return c.Input(0).rank() > 1 ? FirstInputRows(c) : Rows::kWhole; }

Rows SparseLossRows(RowContext& c) { return AllCut(c, 0, 1); }

// A single row is used for all rows.
Rows LossRows(RowContext& c) {
  for (const int i : {0, 1}) {
    const bool single = c.Input(i).dim(0) == 1 && c.batch_rows() != 1;
    if (!c.IsCut(i) && !single && AllCut(c, i, i) == Rows::kWhole) return Rows::kWhole;
  }
  return Rows::kEach;
}

void PlanSoftmaxLoop(PlanContext& context, void (*loop)(const void*, void*, int64_t, int64_t)) {
  const int64_t classes = context.OutputShape(0).dim(-1);
  const int64_t rows = LinesOf(context.OutputShape(0));
  context.AllowInPlace(0, 0);
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  context.Run([=](const Task& task) { loop(task.At(x), task.At(y), rows, classes); });
}

void PlanSoftmax(PlanContext& context) {
  PlanSoftmaxLoop(context, FindSoftmax(context.OutputDType(0)).softmax);
}

void PlanLogSoftmax(PlanContext& context) {
  PlanSoftmaxLoop(context, FindSoftmax(context.OutputDType(0)).log_softmax);
}

void PlanSparseLoss(PlanContext& context) {
  const auto kernel = FindSoftmax(context.InputDType(0)).sparse_loss;
  const bool int64_labels = context.InputDType(1) == DType::kInt64;
  const int64_t rows = context.OutputShape(1).dim(0);
  const int64_t classes = context.OutputShape(1).dim(1);
  context.AllowInPlace(1, 0);
  const Buffer x = context.Input(0);
  const Buffer labels = context.Input(1);
  const Buffer loss = context.Output(0);
  const Buffer dx = context.Output(1);
  context.Run([=](const Task& task) {
    kernel(task.At(x), task.At(labels), int64_labels, task.At(loss), task.At(dx), rows, classes);
  });
}

void PlanLoss(PlanContext& context) {
  const auto kernel = FindSoftmax(context.InputDType(0)).loss;
  const int64_t rows = context.OutputShape(1).dim(0);
  const int64_t classes = context.OutputShape(1).dim(1);
  const auto step = [&](int i) { return context.InputShape(i).dim(0) == rows ? classes : 0; };
  const int64_t x_step = step(0);
  const int64_t labels_step = step(1);
  const Buffer x = context.Input(0);
  const Buffer labels = context.Input(1);
  const Buffer loss = context.Output(0);
  const Buffer dx = context.Output(1);
  context.Run([=](const Task& task) {
    kernel(task.At(x), x_step, task.At(labels), labels_step, task.At(loss), task.At(dx), rows,
           classes);
  });
}

// Reduces the last axis to size 1.
HloTerm ReducedLast(std::string_view op, const HloTerm& x, double init) {
  Shape kept = x.shape();
  kept.set_dim(kept.rank() - 1, 1);
  HloBuilder& hlo = x.hlo();
  return {hlo, hlo.Reshape(hlo.Reduce(op, x.value(), {x.shape().rank() - 1}, init), kept)};
}

// exp(x - max) and its sum; no exponent is positive.
struct SoftmaxTerms {
  explicit SoftmaxTerms(const HloTerm& x)
      : shifted(x - ReducedLast("maximum", x, -std::numeric_limits<double>::infinity())),
        exp(ExpOf(shifted)),
        sum(ReducedLast("add", exp, 0)) {}
  [[nodiscard]] HloTerm Softmax() const { return exp / sum; }
  [[nodiscard]] HloTerm LogSoftmax() const { return shifted - LogOf(sum); }

 private:
  HloTerm shifted, exp, sum;
};

HloTerm SoftmaxOf(const HloTerm& x) { return SoftmaxTerms(x).Softmax(); }
HloTerm LogSoftmaxOf(const HloTerm& x) { return SoftmaxTerms(x).LogSoftmax(); }

// Outputs the losses [N] of a column [N, 1], and the gradients.
void OutputLoss(LowerContext& c, const HloTerm& column, const HloTerm& dx) {
  c.Output(0, c.hlo().Reshape(column.As(c.OutputDType(0)).value(), c.OutputShape(0)));
  c.Output(1, dx.As(c.OutputDType(1)).value());
}

// A row whose label is out of range gets NaN.
void LowerSparseLoss(LowerContext& c) {
  const HloTerm x = WideInput(c, 0);
  const int64_t rows = x.shape().dim(0);
  const HloTerm labels(c.hlo(), c.hlo().Reshape(c.Input(1), {rows, 1}));
  const HloTerm classes(c.hlo(), c.hlo().Iota(labels.dtype(), x.shape(), 1));
  const HloTerm chosen = Equals(classes, labels);
  const SoftmaxTerms row(x);
  const HloTerm loss = -ReducedLast("add", Where(chosen, row.LogSoftmax(), 0), 0);
  const HloTerm dx = row.Softmax() - chosen.As(x.dtype());
  const HloTerm known = Both(labels >= 0, labels < static_cast<double>(x.shape().dim(1)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  OutputLoss(c, Where(known, loss, nan), Where(known, dx, nan));
}

// Classes with label 0 add nothing, even if their logit is infinite.
void LowerLoss(LowerContext& c) {
  const HloTerm labels = WideInput(c, 1);
  const SoftmaxTerms row(WideInput(c, 0));
  const HloTerm each = Where(Differs(labels, 0), labels * row.LogSoftmax(), 0);
  OutputLoss(c, -ReducedLast("add", each, 0), row.Softmax() - labels);
}

const OpDef kSoftmaxOps[] = {
    {.name = "Softmax",
     .signature = "logits: T -> softmax: T; T: bfloat16|float|double",
     .shape = SoftmaxShape,
     .grad = SoftmaxGrad,
     .cpu = PlanSoftmax,
     .hlo = LowerOne<SoftmaxOf>,
     .rows = SoftmaxRows,
     .flops = OutputFlops},
    {.name = "LogSoftmax",
     .signature = "logits: T -> logsoftmax: T; T: bfloat16|float|double",
     .shape = SoftmaxShape,
     .grad = LogSoftmaxGrad,
     .cpu = PlanLogSoftmax,
     .hlo = LowerOne<LogSoftmaxOf>,
     .rows = SoftmaxRows,
     .flops = OutputFlops},
    {.name = "SparseSoftmaxCrossEntropyWithLogits",
     .signature = "features: T, labels: Tlabels -> loss: T, backprop: T; "
                  "T: bfloat16|float|double; Tlabels: int32|int64 = int64",
     .shape = SparseLossShape,
     .grad = SparseLossGrad,
     .cpu = PlanSparseLoss,
     .hlo = LowerSparseLoss,
     .rows = SparseLossRows,
     .flops = InputFlops},
    {.name = "SoftmaxCrossEntropyWithLogits",
     .signature = "features: T, labels: T -> loss: T, backprop: T; T: bfloat16|float|double",
     .shape = LossShape,
     .grad = LossGrad,
     .cpu = PlanLoss,
     .hlo = LowerLoss,
     .rows = LossRows,
     .flops = InputFlops},
};

}  // namespace

Value Softmax(Value logits, std::string_view name) {
  return logits.graph().Add("Softmax", {logits}, {}, name);
}

Value LogSoftmax(Value logits, std::string_view name) {
  return logits.graph().Add("LogSoftmax", {logits}, {}, name);
}

Value SparseSoftmaxCrossEntropyWithLogits(Value logits, Value labels, std::string_view name) {
  return logits.graph().Add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels}, {}, name);
}

Value SoftmaxCrossEntropyWithLogits(Value logits, Value labels, std::string_view name) {
  return logits.graph().Add("SoftmaxCrossEntropyWithLogits", {logits, labels}, {}, name);
}

OpFamily SoftmaxOps() { return kSoftmaxOps; }

}  // namespace tpuest::ops
