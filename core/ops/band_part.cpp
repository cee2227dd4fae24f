// The band around the diagonal of matrices: what masks of causal attention are made of.

#include <algorithm>
#include <cstring>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/hlo_math.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value MatrixBandPart(Value x, int64_t lower, int64_t upper, std::string_view name) {
  Graph& graph = x.graph();
  return graph.Add("MatrixBandPart", {x, graph.Scalar(lower), graph.Scalar(upper)}, {}, name);
}

namespace {

void BandShape(ShapeContext& context) {
  const Shape& x = context.Input(0);
  for (const int i : {1, 2})
    NeedRank(context, context.Input(i), 0, i == 1 ? "num_lower" : "num_upper");
  if (x.known_rank() && x.rank() < 2) {
    context.Fail(fmt::format("{} is no matrix: it needs at least two axes", x.Text()));
  }
  context.Output(0, x);
}

void BandGrad(GradContext& c) {
  c.SetDx(0, c.graph().Add("MatrixBandPart", {c.Dy(), c.input(1), c.input(2)}));
}

Rows BandRows(RowContext& context) {
  return context.Input(0).rank() > 2 ? FirstInputRows(context) : Rows::kWhole;
}

struct BandPlan {
  Buffer x, lower, upper, out;
  bool wide;  // lower and upper are int64
  int64_t matrices, rows, columns;
  size_t element_bytes;
  const Node* node;
};

// Returns how many diagonals are kept on one side: `most` for a negative number, which means all.
int64_t KeptDiagonals(const BandPlan& plan, const Task& task, Buffer buffer, int64_t most,
                      std::string_view what) {
  const int64_t given = plan.wide ? *task.At<int64_t>(buffer) : *task.At<int32_t>(buffer);
  if (given > most) {
    FailInData(*plan.node, fmt::format("{} is {}, expected at most {}, the size of the matrix",
                                       what, given, most));
  }
  return given < 0 ? most : given;
}

void RunBand(const BandPlan& plan, const Task& task) {
  const int64_t lower = KeptDiagonals(plan, task, plan.lower, plan.rows, "num_lower");
  const int64_t upper = KeptDiagonals(plan, task, plan.upper, plan.columns, "num_upper");
  const char* from = task.At<char>(plan.x);
  char* to = task.At<char>(plan.out);
  const auto bytes_of = [&](int64_t elements) {
    return static_cast<size_t>(elements) * plan.element_bytes;
  };
  for (int64_t line = 0; line < plan.matrices * plan.rows; ++line) {
    const int64_t row = line % plan.rows;
    const int64_t begin = std::clamp<int64_t>(row - lower, 0, plan.columns);
    const int64_t end = std::clamp<int64_t>(row + upper + 1, begin, plan.columns);
    std::memset(to, 0, bytes_of(begin));
    std::memcpy(to + bytes_of(begin), from + bytes_of(begin), bytes_of(end - begin));
    std::memset(to + bytes_of(end), 0, bytes_of(plan.columns - end));
    from += bytes_of(plan.columns);
    to += bytes_of(plan.columns);
  }
}

void PlanBand(PlanContext& context) {
  const Shape& shape = context.InputShape(0);
  const int64_t of_one = shape.dim(-2) * shape.dim(-1);
  const BandPlan plan{.x = context.Input(0),
                      .lower = context.Input(1),
                      .upper = context.Input(2),
                      .out = context.Output(0),
                      .wide = context.InputDType(1) == DType::kInt64,
                      .matrices = of_one == 0 ? 0 : shape.elements() / of_one,
                      .rows = shape.dim(-2),
                      .columns = shape.dim(-1),
                      .element_bytes = ElementBytes(context.OutputDType(0)),
                      .node = &context.node()};
  context.Run([plan](const Task& task) { RunBand(plan, task); });
}

void LowerBand(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloTerm x(hlo, c.Input(0));
  const int rank = x.shape().rank();
  const Shape matrix({x.shape().dim(-2), x.shape().dim(-1)});
  const HloTerm row(hlo, hlo.Iota(DType::kInt32, matrix, 0));
  const HloTerm column(hlo, hlo.Iota(DType::kInt32, matrix, 1));
  // A negative number keeps all diagonals.
  const auto kept_on_side = [&](int input, int64_t all) {
    const int64_t given = IntsOfInput(c, input)[0];
    return hlo.Full(DType::kInt32, Shape(), static_cast<double>(given < 0 ? all : given));
  };
  const HloTerm below = HloTerm(hlo, kept_on_side(1, matrix.dim(0))) >= row - column;
  const HloTerm above = HloTerm(hlo, kept_on_side(2, matrix.dim(1))) >= column - row;
  const HloTerm kept(
      hlo, hlo.BroadcastInDim(Both(below, above).value(), x.shape(), {rank - 2, rank - 1}));
  c.Output(0, Where(kept, x, 0.0).value());
}

const OpDef kBandOps[] = {
    {.name = "MatrixBandPart",
     .signature = "input: T, num_lower: Tindex, num_upper: Tindex -> band: T; "
                  "T: bfloat16|float|double|int8|uint8|int32|int64|bool; "
                  "Tindex: int32|int64 = int64",
     .shape = BandShape,
     .grad = BandGrad,
     .cpu = PlanBand,
     .hlo = LowerBand,
     .rows = BandRows},
};

}  // namespace

OpFamily BandOps() { return kBandOps; }

}  // namespace tpuest::ops
