#pragma once
// Defines a few ops under TensorFlow's names, so that tests of the engine do not need core/ops.

#include "core/backend/plan.h"
#include "core/graph/gradient.h"

namespace tpuest::tiny {

inline void SameShape(ShapeContext& c) { c.Output(0, c.Input(0)); }
inline void ScalarShape(ShapeContext& c) { c.Output(0, Shape()); }
inline void ValueShape(ShapeContext& c) { c.Output(0, c.node().Attr<Tensor>("value").shape()); }
inline void ShapeAttr(ShapeContext& c) { c.Output(0, c.node().Attr<Shape>("shape")); }
inline void ReadShape(ShapeContext& c) {
  c.Output(0, c.node().input(0).node->Attr<Shape>("shape"));
}
inline void WiderShape(ShapeContext& c) {
  c.Output(0, c.Input(0).rank() >= c.Input(1).rank() ? c.Input(0) : c.Input(1));
}
inline void NoShape(ShapeContext& /*c*/) {}
inline Tensor DimsOf(const Node& node) {
  const Shape& shape = node.input(0).shape();
  if (!shape.fully_known()) return {};
  return Tensor::Of<int64_t>({shape.rank()}, shape.dims()).Cast(node.output_dtype(0));
}

// Computes y = a * b; elements of the smaller one are taken cyclically (a trailing broadcast).
inline void PlanMul(PlanContext& c) {
  const int64_t n = c.OutputShape(0).elements();
  const int64_t na = c.InputShape(0).elements();
  const int64_t nb = c.InputShape(1).elements();
  if (na == n) c.AllowInPlace(0, 0);
  if (nb == n) c.AllowInPlace(0, 1);
  const Buffer a = c.Input(0);
  const Buffer b = c.Input(1);
  const Buffer y = c.Output(0);
  c.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      task.At<float>(y)[i] = task.At<float>(a)[i % na] * task.At<float>(b)[i % nb];
    }
  });
}
inline void GradMul(GradContext& c) {
  c.SetDx(0, c.graph().Add("Mul", {c.Dy(), c.input(1)}));
  Value db = c.graph().Add("Mul", {c.Dy(), c.input(0)});
  if (c.input(1).shape().rank() == 0) db = c.graph().Add("Sum", {db});
  c.SetDx(1, db);
}

// Sums all elements in float, from the first to the last.
inline Rows SumRows(RowContext& c) { return c.IsCut(0) ? Rows::kSum : Rows::kWhole; }
inline void PlanSum(PlanContext& c) {
  const int64_t n = c.InputShape(0).elements();
  const Buffer x = c.Input(0);
  const Buffer y = c.Output(0);
  c.Run([=](const Task& task) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += task.At<float>(x)[i];
    *task.At<float>(y) = sum;
  });
}
inline void GradSum(GradContext& c) {
  c.SetDx(0, c.graph().Add("Mul", {c.graph().Add("OnesLike", {c.input(0)}), c.Dy()}));
}

inline void PlanOnes(PlanContext& c) {
  const int64_t n = c.OutputShape(0).elements();
  const Buffer y = c.Output(0);
  c.Run([=](const Task& task) { std::fill_n(task.At<float>(y), n, 1.0F); });
}

// Replaces a random tensor: an element is its index in the global batch.
inline Rows GlobalIndexRows(RowContext& c) { return c.IsCut(0) ? Rows::kEach : Rows::kWhole; }
inline void PlanGlobalIndex(PlanContext& c) {
  const int64_t n = c.OutputShape(0).elements();
  const int64_t row = n / c.OutputShape(0).dim(0);
  const Buffer y = c.Output(0);
  c.Run([=](const Task& task) {
    const size_t first = (static_cast<size_t>(task.replica) * task.batch_rows + task.row_begin) *
                         static_cast<size_t>(row);
    for (int64_t i = 0; i < n; ++i) task.At<float>(y)[i] = static_cast<float>(first + i);
  });
}

// A row takes many operations; an element is the number of rows that were computed together with
// it.
inline int64_t HeavyFlops(const Node& node) { return node.output_shape(0).dim(0) << 27; }
inline void PlanHeavy(PlanContext& c) {
  const int64_t n = c.OutputShape(0).elements();
  const Buffer y = c.Output(0);
  c.Run(
      [=](const Task& task) { std::fill_n(task.At<float>(y), n, static_cast<float>(task.rows)); });
}

inline void PlanAssignAdd(PlanContext& c) {
  const Buffer variable = c.VariableInput(0);
  const Buffer value = c.Input(1);
  c.RunRanges(c.InputShape(1).elements(), [=](const Task& task, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      task.At<float>(variable)[i] += task.At<float>(value)[i];
    }
  });
}

// Multiplies x by twice a weight, a derived value: tests PlanContext::Derived.
inline void PlanScaleByDouble(PlanContext& c) {
  const Buffer doubled = c.Derived(1, "doubled", sizeof(float), [](Buffer in, Buffer out) {
    return [in, out](const Task& task) { *task.At<float>(out) = 2 * *task.At<float>(in); };
  });
  const int64_t n = c.OutputShape(0).elements();
  const Buffer x = c.Input(0);
  const Buffer y = c.Output(0);
  c.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i)
      task.At<float>(y)[i] = task.At<float>(x)[i] * *task.At<float>(doubled);
  });
}

inline void PlanNothing(PlanContext& /*c*/) {}
inline void PlanAlias(PlanContext& c) { c.Alias(0, 0); }

inline OpFamily Ops() {
  static const OpDef kOps[] = {
      {.name = "Const",
       .signature = "-> output: dtype; value: tensor; dtype: type",
       .shape = ValueShape,
       .grad = NoGradient,
       .cpu = PlanNothing,
       .source = ValueSource::kConstant},
      {.name = "Placeholder",
       .signature = "-> output: dtype; dtype: type; shape: shape",
       .shape = ShapeAttr,
       .grad = NoGradient,
       .cpu = PlanNothing,
       .source = ValueSource::kFeed},
      {.name = "NoOp",
       .signature = "-> ",
       .shape = NoShape,
       .grad = NoGradient,
       .cpu = PlanNothing},
      {.name = "Shape",
       .signature = "x: T -> y: out_type; T: type; out_type: type = int32",
       .shape = [](ShapeContext& c) { c.Output(0, {c.Input(0).rank()}); },
       .grad = NoGradient,
       .cpu = PlanNothing,
       .of_shape = DimsOf},
      {.name = "Identity",
       .signature = "x: T -> y: T; T: type",
       .shape = SameShape,
       .cpu = PlanAlias,
       .rows = FirstInputRows,
       .alias = true},
      // Not an op of TensorFlow; the engine follows its record.
      {.name = "View",
       .signature = "x: T -> y: T; T: type",
       .shape = SameShape,
       .cpu = PlanAlias,
       .rows = FirstInputRows,
       .alias = true},
      {.name = "UndeclaredView",
       .signature = "x: T -> y: T; T: type",
       .shape = SameShape,
       .cpu = PlanAlias},
      {.name = "Mul",
       .signature = "x: T, y: T -> z: T; T: float",
       .shape = WiderShape,
       .grad = GradMul,
       .cpu = PlanMul,
       .rows = BroadcastRows},
      {.name = "ScaleByDouble",
       .signature = "x: T, y: T -> z: T; T: float",
       .shape = SameShape,
       .cpu = PlanScaleByDouble,
       .rows = FirstInputRows},
      {.name = "Sum",
       .signature = "x: T -> y: T; T: float",
       .shape = ScalarShape,
       .grad = GradSum,
       .cpu = PlanSum,
       .rows = SumRows},
      {.name = "WholeSum",
       .signature = "x: T -> y: T; T: float",
       .shape = ScalarShape,
       .cpu = PlanSum},
      {.name = "Heavy",
       .signature = "x: T -> y: T; T: float",
       .shape = SameShape,
       .grad = NoGradient,
       .cpu = PlanHeavy,
       .rows = FirstInputRows,
       .flops = HeavyFlops},
      {.name = "OnesLike",
       .signature = "x: T -> y: T; T: float",
       .shape = SameShape,
       .grad = NoGradient,
       .cpu = PlanOnes,
       .rows = FirstInputRows},
      {.name = "GlobalIndex",
       .signature = "shape: int32 -> y: float",
       .shape =
           [](ShapeContext& c) {
             const Tensor shape = c.Constant(0).Cast(DType::kInt64);
             const auto dims = shape.values<int64_t>();
             c.Output(0, Shape(std::vector<int64_t>(dims.begin(), dims.end())));
           },
       .grad = NoGradient,
       .cpu = PlanGlobalIndex,
       .rows = GlobalIndexRows,
       .stateful = true},
      {.name = "VarHandleOp",
       .signature = "-> resource: resource; dtype: type; shape: shape; shared_name: string = \"\"",
       .shape = ScalarShape,
       .grad = NoGradient,
       .cpu = PlanNothing,
       .source = ValueSource::kVariable,
       .stateful = true},
      {.name = "ReadVariableOp",
       .signature = "resource: resource -> value: dtype; dtype: type",
       .shape = ReadShape,
       .cpu = PlanNothing,
       .source = ValueSource::kRead,
       .stateful = true},
      {.name = "AssignAddVariableOp",
       .signature = "resource: resource, value: dtype -> ; dtype: type",
       .shape = NoShape,
       .cpu = PlanAssignAdd,
       .stateful = true,
       .writes = true},
      {.name = "CrossReplicaSum",
       .signature = "input: T -> output: T; T: float",
       .shape = SameShape,
       .cpu = PlanNothing,
       .sums_replicas = true},
      {.name = "AddN",
       .signature = "inputs: N*T -> sum: T; N: int; T: float",
       .shape = SameShape,
       .cpu = PlanNothing},
  };
  return kOps;
}

}  // namespace tpuest::tiny
