#include "core/ops/matmul.h"

#include <cstring>
#include <memory>

#include "core/backend/hlo/lower.h"
#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/gemm.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

bool TransposeA(const Node& node) { return node.Attr<bool>("transpose_a"); }
bool TransposeB(const Node& node) { return node.Attr<bool>("transpose_b"); }
bool HasBias(const Node& node) { return node.inputs().size() == 3; }

void MatMulGrad(GradContext& c) {
  const Value a = c.input(0);
  const Value b = c.input(1);
  const Value dy = c.Dy();
  const bool ta = TransposeA(c.node());
  const bool tb = TransposeB(c.node());
  // y = a b: da = dy b', db = a' dy; if an operand is stored transposed, so is its gradient.
  c.SetDx(0, ta ? MatMul(b, dy, {.transpose_a = tb, .transpose_b = true})
                : MatMul(dy, b, {.transpose_b = !tb}));
  c.SetDx(1, tb ? MatMul(dy, a, {.transpose_a = true, .transpose_b = ta})
                : MatMul(a, dy, {.transpose_a = !ta}));
}

void MatMulShape(ShapeContext& c) {
  Shape shapes[2];
  for (const int i : {0, 1}) {
    NeedRank(c, c.Input(i), 2, i == 0 ? "a" : "b");
    shapes[i] = c.Input(i).known_rank() ? c.Input(i) : Shape({kUnknownDim, kUnknownDim});
  }
  const int rows_axis = TransposeA(c.node()) ? 1 : 0;
  const int columns_axis = TransposeB(c.node()) ? 0 : 1;
  const int64_t inner_a = shapes[0].dim(1 - rows_axis);
  const int64_t inner_b = shapes[1].dim(1 - columns_axis);
  if (inner_a != inner_b && inner_a != kUnknownDim && inner_b != kUnknownDim) {
    const auto text = [&](int i, bool transposed) {
      return shapes[i].Text() + (transposed ? " transposed" : "");
    };
    c.Fail(fmt::format("{} times {}: inner sizes differ", text(0, rows_axis == 1),
                       text(1, columns_axis == 0)));
  }
  if (c.inputs() == 3) NeedRank(c, c.Input(2), 1, "the bias");
  c.Output(0, {shapes[0].dim(rows_axis), shapes[1].dim(columns_axis)});
}

// Counts 2 m k n for [m, k] times [k, n].
int64_t MatMulFlops(const Node& node) {
  const Shape& b = node.input(1).shape();
  const int64_t inner = b.known_rank() ? b.dim(TransposeB(node) ? 1 : 0) : 1;
  return 2 * CountedElements(node.output_shape(0)) * (inner == kUnknownDim ? 1 : inner);
}

Rows MatMulRows(RowContext& c) {
  if (HasBias(c.node()) && c.IsCut(2)) return Rows::kWhole;
  if (!TransposeA(c.node())) return c.IsCut(0) && !c.IsCut(1) ? Rows::kEach : Rows::kWhole;
  if (TransposeB(c.node()) || HasBias(c.node())) return Rows::kWhole;
  // a' b sums over the rows of both operands: the gradient of a weight.
  return AllCut(c, 0, 1) == Rows::kEach ? Rows::kSum : Rows::kWhole;
}

void PlanMatMul(PlanContext& context) {
  const Node& node = context.node();
  const Shape& a_shape = context.InputShape(0);
  const Shape& y_shape = context.OutputShape(0);
  const GemmShape shape = {.rows = y_shape.dim(0),
                           .inner = a_shape.dim(TransposeA(node) ? 0 : 1),
                           .columns = y_shape.dim(1),
                           .transpose_a = TransposeA(node),
                           .transpose_b = TransposeB(node)};
  const bool bias = context.inputs() == 3;
  const bool relu = node.HasAttr("activation") && node.Attr<std::string>("activation") == "Relu";
  const Buffer a = context.Input(0);
  const Buffer b = context.Input(1);
  const Buffer bias_buffer = bias ? context.Input(2) : Buffer{};
  const Buffer y = context.Output(0);
  const auto plain = [&]<class T>(T /*of*/) {
    context.Run([=](const Task& task) {
      PlainGemm(shape, task.At<T>(a), task.At<T>(b), bias ? task.At<T>(bias_buffer) : nullptr, relu,
                task.At<T>(y));
    });
  };
  if (context.InputDType(0) == DType::kDouble) return plain(double{});
  // oneDNN divides by the inner size: sums of nothing are zeros.
  if (shape.inner == 0 && !bias) {
    const size_t bytes = static_cast<size_t>(y_shape.elements()) * SizeOf(context.OutputDType(0));
    return context.Run([=](const Task& task) { std::memset(task.At(y), 0, bytes); });
  }
  // For few weights a call of oneDNN takes as long, and oneDNN would first have to generate the
  // kernel's code. The number of rows of a batch must not matter, so that a block gives the same
  // bits as the whole batch.
  constexpr int64_t kFewWeights = 16;
  const int64_t weights = shape.columns * (shape.transpose_a ? shape.rows : shape.inner);
  const bool is_plain = weights <= kFewWeights || shape.inner == 0;
  if (is_plain && context.InputDType(0) == DType::kFloat) return plain(float{});
  const auto gemm = std::make_shared<Gemm>(shape, context.InputDType(0), context.OutputDType(0),
                                           bias, relu, context.threads());
  const Buffer scratch = context.Scratch(gemm->scratch_bytes());
  context.Run([=](const Task& task) {
    gemm->Run(task.thread, task.At(a), task.At(b), bias ? task.At(bias_buffer) : nullptr,
              task.At(y), task.At(scratch));
  });
}

void LowerMatMul(LowerContext& c) {
  c.Output(0, c.hlo().Dot(c.Input(0), c.Input(1),
                          {.batch_x = {},
                           .batch_y = {},
                           .contract_x = {TransposeA(c.node()) ? 0 : 1},
                           .contract_y = {TransposeB(c.node()) ? 1 : 0}}));
}

const OpDef kMatMulOps[] = {
    {.name = "MatMul",
     .signature = "a: T, b: T -> product: T; T: bfloat16|float|double; "
                  "transpose_a: bool = false; transpose_b: bool = false",
     .shape = MatMulShape,
     .grad = MatMulGrad,
     .cpu = PlanMatMul,
     .hlo = LowerMatMul,
     .rows = MatMulRows,
     .flops = MatMulFlops},
    // The fused op in a bound graph.
    {.name = "_FusedMatMul",
     .signature = "a: T, b: T, bias: T -> product: T; T: bfloat16|float|double; "
                  "transpose_a: bool = false; transpose_b: bool = false; "
                  "activation: string = \"\"",
     .shape = MatMulShape,
     .grad = NoSecondGradient,
     .cpu = PlanMatMul,
     .rows = MatMulRows,
     .flops = MatMulFlops},
};

}  // namespace

Value MatMul(Value a, Value b, const MatMulOptions& options, std::string_view name) {
  return a.graph().Add("MatMul", {a, b},
                       {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}},
                       name);
}

OpFamily MatMulOps() { return kMatMulOps; }

}  // namespace tpuest::ops
