// Products of many matrices: x[i] y[i] for each i of the dimensions before the last two.

#include "core/backend/hlo/lower.h"
#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/batch_product.h"
#include "core/ops/matmul.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

bool AdjointX(const Node& node) { return node.Attr<bool>("adj_x"); }
bool AdjointY(const Node& node) { return node.Attr<bool>("adj_y"); }

// As MatMulGrad, for each pair.
void BatchMatMulGrad(GradContext& c) {
  const Value x = c.input(0);
  const Value y = c.input(1);
  const Value dy = c.Dy();
  const bool tx = AdjointX(c.node());
  const bool ty = AdjointY(c.node());
  c.SetDx(0, tx ? BatchMatMulV2(y, dy, {.transpose_a = ty, .transpose_b = true})
                : BatchMatMulV2(dy, y, {.transpose_b = !ty}));
  c.SetDx(1, ty ? BatchMatMulV2(dy, x, {.transpose_a = true, .transpose_b = tx})
                : BatchMatMulV2(x, dy, {.transpose_a = !tx}));
}

// The dimensions before the matrices. TensorFlow broadcasts dimensions of 1; here they must be
// equal.
Shape BatchOf(ShapeContext& c) {
  const auto ahead = [&](int i) {
    const std::vector<int64_t>& dims = c.Input(i).dims();
    return Shape(std::vector<int64_t>(dims.begin(), dims.end() - 2));
  };
  const std::optional<Shape> batch = MergeOf(ahead(0), ahead(1));
  if (!batch) {
    c.Fail(fmt::format("{} times {}: the dimensions before the matrices differ", c.Input(0).Text(),
                       c.Input(1).Text()));
  }
  return *batch;
}

void BatchMatMulShape(ShapeContext& c) {
  if (!c.Input(0).known_rank() || !c.Input(1).known_rank()) {
    return c.Output(0, Shape::UnknownRank());
  }
  for (const int i : {0, 1}) {
    if (c.Input(i).rank() < 2) {
      c.Fail(fmt::format("{} is {}: a matrix has two dimensions", i == 0 ? "x" : "y",
                         c.Input(i).Text()));
    }
  }
  const int rows_axis = AdjointX(c.node()) ? -1 : -2;
  const int columns_axis = AdjointY(c.node()) ? -2 : -1;
  const int64_t inner_x = c.Input(0).dim(-3 - rows_axis);
  const int64_t inner_y = c.Input(1).dim(-3 - columns_axis);
  if (inner_x != inner_y && inner_x != kUnknownDim && inner_y != kUnknownDim) {
    c.Fail(fmt::format("{} times {}: inner sizes differ", c.Input(0).Text(), c.Input(1).Text()));
  }
  std::vector<int64_t> dims = BatchOf(c).dims();
  dims.push_back(c.Input(0).dim(rows_axis));
  dims.push_back(c.Input(1).dim(columns_axis));
  c.Output(0, Shape(dims));
}

int64_t BatchMatMulFlops(const Node& node) {
  const Shape& y = node.input(1).shape();
  const int64_t inner = y.known_rank() ? y.dim(AdjointY(node) ? -1 : -2) : 1;
  return 2 * CountedElements(node.output_shape(0)) * (inner == kUnknownDim ? 1 : inner);
}

// Only batch dimensions are split into blocks, never the matrices.
Rows BatchMatMulRows(RowContext& c) {
  return c.Output(0).rank() > 2 ? AllCut(c, 0, 1) : Rows::kWhole;
}

void PlanBatchMatMul(PlanContext& context) {
  const Node& node = context.node();
  const Shape& result = context.OutputShape(0);
  const GemmShape shape = {.rows = result.dim(-2),
                           .inner = context.InputShape(0).dim(AdjointX(node) ? -2 : -1),
                           .columns = result.dim(-1),
                           .transpose_a = AdjointX(node),
                           .transpose_b = AdjointY(node)};
  const int64_t of_one = shape.rows * shape.columns;
  const int64_t count = of_one == 0 ? 0 : result.elements() / of_one;
  const BatchProduct product(shape, context.InputDType(0));
  const Buffer x = context.Input(0);
  const Buffer y = context.Input(1);
  const Buffer scratch = context.Scratch(product.scratch_bytes());
  const Buffer z = context.Output(0);
  context.Run([=](const Task& task) {
    product.Run(count, task.At(x), task.At(y), task.At(z), task.At(scratch));
  });
}

void LowerBatchMatMul(LowerContext& c) {
  const int64_t rank = c.OutputShape(0).rank();
  DotAxes axes;
  for (int64_t i = 0; i < rank - 2; ++i) {
    axes.batch_x.push_back(i);
    axes.batch_y.push_back(i);
  }
  axes.contract_x = {AdjointX(c.node()) ? rank - 2 : rank - 1};
  axes.contract_y = {AdjointY(c.node()) ? rank - 1 : rank - 2};
  c.Output(0, c.hlo().Dot(c.Input(0), c.Input(1), axes));
}

const OpDef kBatchMatMulOps[] = {
    {.name = "BatchMatMulV2",
     .signature = "x: T, y: T -> output: T; T: bfloat16|float|double; "
                  "adj_x: bool = false; adj_y: bool = false",
     .shape = BatchMatMulShape,
     .grad = BatchMatMulGrad,
     .cpu = PlanBatchMatMul,
     .hlo = LowerBatchMatMul,
     .rows = BatchMatMulRows,
     .flops = BatchMatMulFlops},
};

}  // namespace

Value BatchMatMulV2(Value x, Value y, const MatMulOptions& options, std::string_view name) {
  return x.graph().Add("BatchMatMulV2", {x, y},
                       {{"adj_x", options.transpose_a}, {"adj_y", options.transpose_b}}, name);
}

OpFamily BatchMatMulOps() { return kBatchMatMulOps; }

}  // namespace tpuest::ops
