#include "core/ops/state.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>

#include "core/backend/rows/row_counts.h"
#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_table.h"
#include "core/graph/flops.h"
#include "core/kernels/isa/binary.h"
#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"
#include "core/ops/update_bounds.h"
#include "core/tensor/prefetch.h"

namespace tpuest::ops {
namespace {

// Finds the VarHandleOp at the end of a chain of Identity ops.
const Node& VariableNode(Value handle) {
  handle = BehindIdentities(handle);
  if (handle.node->type() != "VarHandleOp") {
    throw Error(Code::kUsage, fmt::format("'{}' is not the handle of a variable", handle.name()))
        .At(handle.node->origin());
  }
  return *handle.node;
}

Value Read(std::string_view op, std::vector<Value> inputs, std::string_view name) {
  const DType dtype = VariableDType(inputs[0]);
  Graph& graph = inputs[0].graph();
  return graph.Add(op, std::move(inputs), {{"dtype", dtype}}, name);
}

Node* Write(std::string_view op, std::vector<Value> inputs, std::string_view name) {
  Graph& graph = inputs[0].graph();
  return graph.AddNode(op, std::move(inputs), {}, name);
}

}  // namespace

DType VariableDType(Value handle) { return VariableNode(handle).Attr<DType>("dtype"); }
const Shape& VariableShape(Value handle) { return VariableNode(handle).Attr<Shape>("shape"); }

Value ReadVariableOp(Value handle, std::string_view name) {
  return Read("ReadVariableOp", {handle}, name);
}
Node* AssignVariableOp(Value handle, Value value, std::string_view name) {
  return Write("AssignVariableOp", {handle, value}, name);
}
Node* AssignAddVariableOp(Value handle, Value value, std::string_view name) {
  return Write("AssignAddVariableOp", {handle, value}, name);
}
Node* AssignSubVariableOp(Value handle, Value value, std::string_view name) {
  return Write("AssignSubVariableOp", {handle, value}, name);
}
Value VarIsInitializedOp(Value handle, std::string_view name) {
  return handle.graph().Add("VarIsInitializedOp", {handle}, {}, name);
}
Value ResourceGather(Value handle, Value indices, std::string_view name) {
  return Read("ResourceGather", {handle, indices}, name);
}
Value GatherOwnRows(Value handle, Value indices, std::string_view name) {
  return handle.graph().Add("ResourceGather", {handle, indices},
                            {{"dtype", VariableDType(handle)}, {std::string(kOwnRows), true}},
                            name);
}
Node* ResourceScatterAdd(Value handle, Value indices, Value updates, std::string_view name) {
  return Write("ResourceScatterAdd", {handle, indices, updates}, name);
}
Node* ResourceScatterSub(Value handle, Value indices, Value updates, std::string_view name) {
  return Write("ResourceScatterSub", {handle, indices, updates}, name);
}
Node* ResourceScatterUpdate(Value handle, Value indices, Value updates, std::string_view name) {
  return Write("ResourceScatterUpdate", {handle, indices, updates}, name);
}

namespace {

void CheckDType(const ShapeContext& context) {
  const DType found = context.node().Attr<DType>("dtype");
  const Value handle = context.node().input(0);
  if (found != VariableDType(handle)) {
    context.Fail(fmt::format("'{}' is {}, expected {}", handle.name(),
                             NameOf(VariableDType(handle)), NameOf(found)));
  }
}

void HandleShape(ShapeContext& context) { context.Output(0, Shape()); }
void PlanHandle(PlanContext& /*context*/) {}

void ReadShape(ShapeContext& context) {
  CheckDType(context);
  context.Output(0, VariableShape(context.node().input(0)));
}

void ReadGrad(GradContext& c) { c.SetDx(0, c.Dy()); }

size_t BytesOf(const Shape& shape, DType dtype) {
  return static_cast<size_t>(shape.elements()) * ElementBytes(dtype);
}

void PlanRead(PlanContext& context) {
  const Buffer from = context.VariableInput(0);
  const Buffer to = context.Output(0);
  const size_t bytes = BytesOf(context.OutputShape(0), context.OutputDType(0));
  context.Run([=](const Task& task) { std::memcpy(task.At(to), task.At(from), bytes); });
}

void AssignShape(ShapeContext& context) {
  CheckDType(context);
  const Shape& variable = VariableShape(context.node().input(0));
  if (!Compatible(variable, context.Input(1))) {
    context.Fail(fmt::format("'{}' is {}, but the value is {}", context.node().input(0).name(),
                             variable.Text(), context.Input(1).Text()));
  }
}

void PlanAssign(PlanContext& context) {
  const Buffer from = context.Input(1);
  const Buffer to = context.VariableInput(0);
  const size_t bytes = BytesOf(context.InputShape(1), context.InputDType(1));
  // The value may be the variable itself.
  context.Run([=](const Task& task) { std::memmove(task.At(to), task.At(from), bytes); });
}

template <Binary op>
void PlanUpdate(PlanContext& context) {
  const BinaryKernel kernel = FindBinary(op, context.InputDType(1));
  Check(kernel != nullptr, "{} of {}", context.node().type(), NameOf(context.InputDType(1)));
  const Buffer variable = context.VariableInput(0);
  const Buffer value = context.Input(1);
  const int64_t n = context.InputShape(1).elements();
  context.Run([=](const Task& task) {
    kernel(task.At(variable), task.At(value), task.At(variable), n, 1, 1);
  });
}

// A program starts only when all of its variables have values.
void PlanIsInitialized(PlanContext& context) {
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) { *task.At<bool>(out) = true; });
}

void ResourceGatherShape(ShapeContext& context) {
  CheckDType(context);
  const Shape& variable = VariableShape(context.node().input(0));
  if (variable.rank() == 0) context.Fail("the variable is a scalar");
  if (context.node().Attr<int64_t>("batch_dims") != 0) context.Fail("batch_dims must be 0");
  const Shape& indices = context.Input(1);
  if (!indices.known_rank()) return context.Output(0, indices);
  std::vector<int64_t> dims = indices.dims();
  dims.insert(dims.end(), variable.dims().begin() + 1, variable.dims().end());
  context.Output(0, Shape(dims));
}

// Returns x without the ops that only change its shape.
Value WithoutReshapes(Value x) {
  while (x.node->type() == "Reshape" || x.node->type() == "ExpandDims") x = x.node->input(0);
  return x;
}

// Finds the indices for the gradient. If the lookup reads Maximum(SelectV2(present, ids, x), 0),
// and its rows are only read by SelectV2(present, rows, 0), then absent rows add zeros to the
// gradient. So the gradient uses the indices before Maximum, in which -1 means no row.
Value RowsOfGradient(const GradContext& c) {
  const Value indices = c.input(1);
  const Node& dy = *c.Dy().node;
  if (indices.node->type() != "Maximum" || dy.type() != "SelectV2") return indices;
  const Node& asked = *indices.node->input(0).node;
  if (asked.type() != "SelectV2") return indices;
  const Value present = asked.input(0);
  const Tensor otherwise = ConstantValue(dy.input(2));
  const bool same = WithoutReshapes(dy.input(0)) == WithoutReshapes(present) && otherwise.valid() &&
                    otherwise.elements() == 1 && otherwise.AsDouble(0) == 0;
  return same ? indices.node->input(0) : indices;
}

void ResourceGatherGrad(GradContext& c) {
  std::vector<int64_t> dims = VariableShape(c.input(0)).dims();
  const int64_t rows = dims[0];
  dims[0] = kUnknownDim;
  c.SetDx(0, IndexedSlices{Reshape(c.Dy(), Shape(dims)),
                           Reshape(RowsOfGradient(c), Shape({kUnknownDim})), rows,
                           /*distinct=*/true});
}

Rows ResourceGatherRows(RowContext& context) {
  return context.IsCut(1) ? Rows::kEach : Rows::kWhole;
}

// Reads int32 or int64 indices and checks them against the variable's rows.
class Indices {
 public:
  Indices(PlanContext& context, int input)
      : buffer_(context.Input(input)),
        wide_(context.InputDType(input) == DType::kInt64),
        count_(context.InputShape(input).elements()),
        rows_(VariableShape(context.node().input(0)).dim(0)),
        what_(fmt::format("{} '{}'", context.node().type(), context.node().name())) {}

  [[nodiscard]] int64_t count() const { return count_; }
  // Prefetches the source of row i of the tensor, if there is such a row.
  void Prefetch(const Task& task, int64_t i, const char* table, size_t bytes) const {
    if (i >= count_) return;
    const int64_t at = Index(task, i);
    if (at < 0 || at >= rows_) return;
    PrefetchRow(table + static_cast<size_t>(at) * bytes, static_cast<int64_t>(bytes));
  }
  // Throws Error kData unless the index is in lowest .. rows - 1.
  [[nodiscard]] int64_t At(const Task& task, int64_t i, int64_t lowest) const {
    const int64_t at = Index(task, i);
    if (at < lowest || at >= rows_) [[unlikely]] {
      throw Error(Code::kData,
                  fmt::format("{}: index {} is out of range for {} rows", what_, at, rows_));
    }
    return at;
  }

 private:
  [[nodiscard]] int64_t Index(const Task& task, int64_t i) const {
    return wide_ ? task.At<int64_t>(buffer_)[i] : task.At<int32_t>(buffer_)[i];
  }

  Buffer buffer_;
  bool wide_;
  int64_t count_;
  int64_t rows_;
  std::string what_;
};

int64_t RowElements(const PlanContext& context) {
  const Shape& variable = VariableShape(context.node().input(0));
  int64_t elements = 1;
  for (int d = 1; d < variable.rank(); ++d) elements *= variable.dim(d);
  return elements;
}

constexpr int64_t kRowsAtOnce = 256;

// Reads rows of a variable in row storage, while other variables of the same table may be written.
void PlanGatherOfTable(PlanContext& context, const Indices& indices, const RowColumn& rows) {
  const Buffer to = context.Output(0);
  const int64_t width = rows.table->width();
  const bool of_own = context.node().HasAttr(kOwnRows);
  context.Run([=, rows = &rows](const Task& task) {
    int64_t asked[kRowsAtOnce];
    for (int64_t begin = 0; begin < indices.count(); begin += kRowsAtOnce) {
      const int64_t n = std::min(kRowsAtOnce, indices.count() - begin);
      for (int64_t i = 0; i < n; ++i) asked[i] = indices.At(task, begin + i, 0);
      const std::shared_lock lock(rows->table->mutex());
      const std::span<const int64_t> now(asked, static_cast<size_t>(n));
      float* const values = task.At<float>(to) + begin * width;
      if (of_own) {
        rows->table->ReadOwn(rows->column, now, values);
      } else {
        rows->table->Read(rows->column, now, values);
      }
    }
  });
}

void PlanResourceGather(PlanContext& context) {
  const Indices indices(context, 1);
  if (const RowColumn* const rows = context.RowsInput(0)) {
    return PlanGatherOfTable(context, indices, *rows);
  }
  const auto bytes =
      static_cast<size_t>(RowElements(context)) * ElementBytes(context.OutputDType(0));
  const Buffer from = context.VariableInput(0);
  const Buffer to = context.Output(0);
  if (bytes == sizeof(uint32_t)) {
    // One number per row: a linear model's column.
    return context.Run([=](const Task& task) {
      const uint32_t* const table = task.At<uint32_t>(from);
      uint32_t* const rows = task.At<uint32_t>(to);
      for (int64_t i = 0; i < indices.count(); ++i) rows[i] = table[indices.At(task, i, 0)];
    });
  }
  context.Run([=](const Task& task) {
    const char* const table = task.At<char>(from);
    char* row = task.At<char>(to);
    for (int64_t i = 0; i < indices.count(); ++i, row += bytes) {
      indices.Prefetch(task, i + kRowsAhead, table, bytes);
      std::memcpy(row, table + static_cast<size_t>(indices.At(task, i, 0)) * bytes, bytes);
    }
  });
}

void ScatterShape(ShapeContext& context) {
  CheckDType(context);
  const Shape& variable = VariableShape(context.node().input(0));
  const Shape& indices = context.Input(1);
  if (variable.rank() == 0) context.Fail("the variable is a scalar");
  if (!indices.known_rank()) return;
  std::vector<int64_t> dims = indices.dims();
  dims.insert(dims.end(), variable.dims().begin() + 1, variable.dims().end());
  if (!Compatible(Shape(dims), context.Input(2))) {
    context.Fail(
        fmt::format("updates must be {}, found {}", Shape(dims).Text(), context.Input(2).Text()));
  }
}

template <Binary op>
void PlanScatter(PlanContext& context) {
  const BinaryKernel kernel = FindBinary(op, context.InputDType(2));
  Check(kernel != nullptr, "{} of {}", context.node().type(), NameOf(context.InputDType(2)));
  const Indices indices(context, 1);
  const int64_t elements = RowElements(context);
  const auto bytes = static_cast<int64_t>(SizeOf(context.InputDType(2))) * elements;
  const Buffer variable = context.VariableInput(0);
  const Buffer updates = context.Input(2);
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < indices.count(); ++i) {
      const int64_t at = indices.At(task, i, -1);
      if (at < 0) continue;
      char* const row = task.At<char>(variable) + at * bytes;
      kernel(row, task.At<char>(updates) + i * bytes, row, elements, 1, 1);
    }
  });
}

// Counts a row that an update writes, if rows are counted, and returns whether it may be written. A
// row that may be written is noted, if changes are noted.
bool Admits(const RowWatch* watch, int64_t row) {
  if (watch == nullptr) return true;
  if (watch->row_counts != nullptr) {
    if (watch->counts) watch->row_counts->See(row);
    if (!watch->row_counts->IsTrained(row)) return false;
  }
  if (watch->changed != nullptr) watch->changed->Insert(row);
  return true;
}

// Updates of several variables of a table may run concurrently.
void PlanUpdateOfTable(PlanContext& context, const Indices& indices, const RowColumn& rows) {
  const Buffer updates = context.Input(2);
  const RowWatch* const watch = context.WatchInput(0);
  const int64_t width = rows.table->width();
  context.Run([=, rows = &rows](const Task& task) {
    RowTable* const table = rows->table.get();
    const std::lock_guard lock(table->mutex());
    const auto* from = task.At<const float>(updates);
    constexpr int64_t kAhead = 8;  // rows to prefetch ahead
    for (int64_t i = 0; i < indices.count(); ++i, from += width) {
      const int64_t next = i + kAhead < indices.count() ? indices.At(task, i + kAhead, -1) : -1;
      if (next >= 0) table->Prefetch(next);
      const int64_t at = indices.At(task, i, -1);
      if (at < 0 || !table->IsOwn(at)) continue;
      if (Admits(watch, at)) table->Write(rows->column, at, from);
    }
  });
}

void PlanScatterUpdate(PlanContext& context) {
  const Indices indices(context, 1);
  if (const RowColumn* const rows = context.RowsInput(0)) {
    return PlanUpdateOfTable(context, indices, *rows);
  }
  const auto bytes =
      static_cast<size_t>(RowElements(context)) * ElementBytes(context.InputDType(2));
  const Buffer variable = context.VariableInput(0);
  const Buffer updates = context.Input(2);
  const RowWatch* const watch = context.WatchInput(0);
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < indices.count(); ++i) {
      const int64_t at = indices.At(task, i, -1);
      if (at < 0 || !Admits(watch, at)) continue;
      std::memcpy(task.At<char>(variable) + static_cast<size_t>(at) * bytes,
                  task.At<char>(updates) + static_cast<size_t>(i) * bytes, bytes);
    }
  });
}

constexpr std::string_view kUpdate = "resource: resource, value: dtype ->; dtype: type";
constexpr std::string_view kScatter =
    "resource: resource, indices: Tindices, updates: dtype ->; "
    "dtype: bfloat16|float|double|int32|int64; Tindices: int32|int64";

// The value that a read returns: the one at the start of the step, unless the read waits for a
// node.
HloValue ValueRead(LowerContext& c) {
  return c.node().control_inputs().empty() ? c.VariableAtStart(0) : c.Variable(0);
}

void LowerRead(LowerContext& c) { c.Output(0, ValueRead(c)); }
void LowerAssign(LowerContext& c) { c.Assign(0, c.Input(1)); }
void LowerAdd(LowerContext& c) { c.Assign(0, c.hlo().Binary("add", c.Variable(0), c.Input(1))); }
void LowerSub(LowerContext& c) {
  c.Assign(0, c.hlo().Binary("subtract", c.Variable(0), c.Input(1)));
}
void LowerIsInitialized(LowerContext& c) {
  c.Output(0, c.hlo().Full(DType::kBool, c.OutputShape(0), 1));
}

// Row numbers relative to the first row of this replica's part of the variable.
HloValue InOwnPart(HloBuilder& hlo, const HloValue& part, const HloValue& rows) {
  const HloValue replica = hlo.Op("replica_id", {}, "", "", DType::kUint32, Shape());
  const HloValue first =
      hlo.Binary("multiply", hlo.Convert(replica, rows.dtype), static_cast<double>(part.dim(0)));
  return hlo.Binary("subtract", rows, hlo.Broadcast(first, rows.shape));
}

// Returns these rows of the part, [rows..., ...]; all other rows are `otherwise`.
HloValue RowsOfPart(HloBuilder& hlo, const HloValue& part, const HloValue& rows, double otherwise) {
  const HloValue numbers = InOwnPart(hlo, part, rows);
  const HloValue found = hlo.GatherRows(part, numbers);
  const HloValue end = hlo.FullLike(numbers, static_cast<double>(part.dim(0)));
  const HloValue is_own = hlo.Binary("and", hlo.Compare("GE", numbers, hlo.FullLike(numbers, 0)),
                                     hlo.Compare("LT", numbers, end));
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < numbers.rank(); ++axis) axes.push_back(axis);
  return hlo.Select(hlo.BroadcastInDim(is_own, found.shape, axes), found,
                    hlo.FullLike(found, otherwise));
}

// Every replica gets the row numbers of all replicas, finds the rows that it has, and receives the
// sum for its own numbers: one replica contributes the row and the others zeros.
HloValue GatherFromParts(LowerContext& c, const HloValue& part) {
  HloBuilder& hlo = c.hlo();
  const auto last = static_cast<double>(VariableShape(c.node().input(0)).dim(0) - 1);
  const HloValue rows = hlo.Binary("minimum", hlo.Binary("maximum", c.Input(1), 0), last);
  if (c.node().HasAttr(kOwnRows)) return RowsOfPart(hlo, part, rows, 1);
  const HloValue own = hlo.Reshape(rows, Shape({rows.shape.elements()}));
  const HloValue found = RowsOfPart(hlo, part, hlo.AllGather(own, c.replicas()), 0);
  return hlo.Reshape(hlo.ReduceScatterSum(found, c.replicas()), c.OutputShape(0));
}

// An index out of range takes the nearest row.
void LowerResourceGather(LowerContext& c) {
  const HloValue rows = ValueRead(c);
  c.Output(0, c.HasPart(0) ? GatherFromParts(c, rows) : c.hlo().GatherRows(rows, c.Input(1)));
}

// Indices out of range mean no row. All replicas write the same values; each writes only the rows
// of its part.
void Scatter(LowerContext& c, std::string_view op, const HloValue& updates) {
  const HloValue now = c.Variable(0);
  const HloValue rows = c.HasPart(0) ? InOwnPart(c.hlo(), now, c.Input(1)) : c.Input(1);
  c.Assign(0, c.hlo().ScatterRows(op, now, rows, updates));
}
void LowerScatterAdd(LowerContext& c) { Scatter(c, "add", c.Input(2)); }
void LowerScatterSub(LowerContext& c) { Scatter(c, "add", c.hlo().Unary("negate", c.Input(2))); }
void LowerScatterUpdate(LowerContext& c) { Scatter(c, "set", c.Input(2)); }

const OpDef kStateOps[] = {
    {.name = "VarHandleOp",
     .signature = "-> resource: resource; container: string = \"\"; shared_name: string = \"\"; "
                  "dtype: type; shape: shape; allowed_devices: list(string) = []",
     .shape = HandleShape,
     .grad = NoGradient,
     .cpu = PlanHandle,
     .source = ValueSource::kVariable,
     .stateful = true},
    {.name = "ReadVariableOp",
     .signature = "resource: resource -> value: dtype; dtype: type",
     .shape = ReadShape,
     .grad = ReadGrad,
     .cpu = PlanRead,
     .hlo = LowerRead,
     .source = ValueSource::kRead,
     .stateful = true},
    {.name = "AssignVariableOp",
     .signature = "resource: resource, value: dtype ->; dtype: type; validate_shape: bool = false",
     .shape = AssignShape,
     .grad = NoGradient,
     .cpu = PlanAssign,
     .hlo = LowerAssign,
     .stateful = true,
     .writes = true,
     .bounds = &kAssignBounds},
    {.name = "AssignAddVariableOp",
     .signature = kUpdate,
     .shape = AssignShape,
     .grad = NoGradient,
     .cpu = PlanUpdate<Binary::kAdd>,
     .hlo = LowerAdd,
     .flops = InputFlops,
     .stateful = true,
     .writes = true,
     .bounds = &kAssignBounds},
    {.name = "AssignSubVariableOp",
     .signature = kUpdate,
     .shape = AssignShape,
     .grad = NoGradient,
     .cpu = PlanUpdate<Binary::kSub>,
     .hlo = LowerSub,
     .flops = InputFlops,
     .stateful = true,
     .writes = true,
     .bounds = &kAssignBounds},
    {.name = "VarIsInitializedOp",
     .signature = "resource: resource -> is_initialized: bool",
     .shape = ScalarShape,
     .grad = NoGradient,
     .cpu = PlanIsInitialized,
     .hlo = LowerIsInitialized,
     .stateful = true},
    {.name = "ResourceGather",
     .signature = "resource: resource, indices: Tindices -> output: dtype; batch_dims: int = 0; "
                  "validate_indices: bool = true; dtype: type; Tindices: int32|int64",
     .shape = ResourceGatherShape,
     .grad = ResourceGatherGrad,
     .cpu = PlanResourceGather,
     .hlo = LowerResourceGather,
     .rows = ResourceGatherRows,
     .stateful = true,
     .looks_up_rows = true},
    {.name = "ResourceScatterAdd",
     .signature = kScatter,
     .shape = ScatterShape,
     .grad = NoGradient,
     .cpu = PlanScatter<Binary::kAdd>,
     .hlo = LowerScatterAdd,
     .flops = InputFlops,
     .stateful = true,
     .writes = true,
     .writes_rows = true,
     .bounds = &kScatterBounds},
    {.name = "ResourceScatterSub",
     .signature = kScatter,
     .shape = ScatterShape,
     .grad = NoGradient,
     .cpu = PlanScatter<Binary::kSub>,
     .hlo = LowerScatterSub,
     .flops = InputFlops,
     .stateful = true,
     .writes = true,
     .writes_rows = true,
     .bounds = &kScatterBounds},
    {.name = "ResourceScatterUpdate",
     .signature = kScatter,
     .shape = ScatterShape,
     .grad = NoGradient,
     .cpu = PlanScatterUpdate,
     .hlo = LowerScatterUpdate,
     .stateful = true,
     .writes = true,
     .writes_rows = true,
     .bounds = &kScatterBounds},
};

}  // namespace

OpFamily StateOps() { return kStateOps; }

}  // namespace tpuest::ops
