#include "core/ops/replica_rows.h"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "core/graph/flops.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"
#include "core/ops/unique_numbers.h"

namespace tpuest::ops {

GatheredRows GatherRows(Value indices, Value values, int replicas, const std::string& table) {
  Attrs attrs = {{"replicas", int64_t{replicas}}};
  if (!table.empty()) attrs[std::string(kRowsOf)] = table;
  Node* const node = values.graph().AddNode("_GatherRowsOfReplicas", {indices, values}, attrs);
  return {node->output(0), node->output(1)};
}

SummedRows SumRowsOfReplicas(Value indices, Value values, int replicas, std::string_view name) {
  Node* const node = values.graph().AddNode("_SumRowsOfReplicas", {indices, values},
                                            {{"replicas", int64_t{replicas}}}, name);
  return {node->output(0), node->output(1)};
}

namespace {

void GatherRowsShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "indices");
  for (int i = 0; i < 2; ++i) {
    Shape all = context.Input(i);
    if (all.known_rank() && all.rank() == 0) context.Fail("a scalar has no rows");
    if (all.known_rank() && all.dim(0) != kUnknownDim) {
      all.set_dim(0, all.dim(0) * context.node().Attr<int64_t>("replicas"));
    }
    context.Output(i, all);
  }
}

// With one replica the rows are its own; the program itself gathers those of several.
void PlanGatherRows(PlanContext& context) {
  context.Alias(0, 0);
  context.Alias(1, 1);
}

// Each replica writes its rows into zeros at its position, and all are added.
void LowerGathered(LowerContext& c, int i) {
  HloBuilder& hlo = c.hlo();
  const HloValue x = c.Input(i);
  const int64_t replicas = c.replicas();
  if (replicas == 1) return c.Output(i, x);
  std::vector<int64_t> dims = x.shape.dims();
  dims.insert(dims.begin(), replicas);
  const Shape all(dims);
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis < all.rank(); ++axis) axes.push_back(axis);
  const HloValue own = hlo.Op("replica_id", {}, "", "", DType::kUint32, Shape());
  const HloValue is_own =
      hlo.Compare("EQ", hlo.Iota(DType::kUint32, all, 0), hlo.Broadcast(own, all));
  const HloValue placed =
      hlo.Select(is_own, hlo.BroadcastInDim(x, all, axes), hlo.Full(x.dtype, all, 0));
  c.Output(i, hlo.Reshape(hlo.AllReduceSum(placed, replicas), c.OutputShape(i)));
}

void LowerGatherRows(LowerContext& c) {
  LowerGathered(c, 0);
  LowerGathered(c, 1);
}

void SumRowsShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "indices");
  NeedRank(context, context.Input(1), 2, "values");
  context.Output(0, context.Input(0));
  context.Output(1, context.Input(1));
}

struct SumRowsSizes {
  int64_t rows, of_replica, width;
  int replicas;
};

// The input rows that contribute to each distinct row: those of row u are order[begins[u]] ..
// order[begins[u + 1] - 1], in the order of the replicas.
struct Contributions {
  const int32_t* begins;
  const int32_t* order;
  int64_t distinct;
};

// Sorts the valid input rows by the number of their distinct row; the sort is stable. `begins` has
// rows + 1 elements.
template <class Index>
Contributions ByDistinct(const Index* indices, const int32_t* idx, int64_t rows, int32_t* begins,
                         int32_t* order) {
  std::fill_n(begins, rows + 1, 0);
  int64_t distinct = 0;
  for (int64_t i = 0; i < rows; ++i) {
    distinct = std::max<int64_t>(distinct, idx[i] + 1);
    if (indices[i] >= 0) ++begins[idx[i] + 1];
  }
  for (int64_t u = 0; u < rows; ++u) begins[u + 1] += begins[u];
  for (int64_t i = 0; i < rows; ++i) {
    if (indices[i] >= 0) order[begins[idx[i]]++] = static_cast<int32_t>(i);
  }
  // The loop above moved each begin to the next row's; this undoes it.
  for (int64_t u = rows; u > 0; --u) begins[u] = begins[u - 1];
  begins[0] = 0;
  return {begins, order, distinct};
}

// Sums the tree over replicas first .. first + count - 1, using only the rows in `of`.
template <class T>
class SparseTree {
 public:
  SparseTree(const T* values, const SumRowsSizes& sizes) : values_(values), sizes_(sizes) {}

  // `spare` has room for one row per level of the tree.
  void Add(std::span<const int32_t> of, int first, int count, T* to, T* spare) const {
    if (of.size() == 1) {
      std::copy_n(values_ + of[0] * sizes_.width, sizes_.width, to);
      return;
    }
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
    const auto in_left = [&](int32_t at) { return at / sizes_.of_replica < first + left; };
    const auto lefts =
        static_cast<size_t>(std::partition_point(of.begin(), of.end(), in_left) - of.begin());
    if (lefts == of.size()) return Add(of, first, left, to, spare);
    if (lefts == 0) return Add(of, first + left, count - left, to, spare);
    Add(of.first(lefts), first, left, to, spare);
    Add(of.subspan(lefts), first + left, count - left, spare, spare + sizes_.width);
    for (int64_t k = 0; k < sizes_.width; ++k) to[k] += spare[k];
  }

 private:
  const T* values_;
  const SumRowsSizes& sizes_;
};

template <class T, class Index>
void PlanSumRowsOf(PlanContext& context) {
  const Shape& shape = context.InputShape(1);
  const int replicas = static_cast<int>(context.Attr<int64_t>("replicas"));
  const SumRowsSizes sizes{shape.dim(0), std::max<int64_t>(shape.dim(0) / replicas, 1),
                           shape.dim(1), replicas};
  const Buffer indices = context.Input(0);
  const Buffer values = context.Input(1);
  const Buffer distinct = context.Output(0);
  const Buffer sums = context.Output(1);
  const auto rows = static_cast<size_t>(sizes.rows);
  const Buffer table = context.Scratch(UniqueTableBytes(sizes.rows));
  const Buffer idx = context.Scratch(rows * sizeof(int32_t));
  const Buffer begins = context.Scratch((rows + 1) * sizeof(int32_t));
  const Buffer order = context.Scratch(rows * sizeof(int32_t));
  const auto levels = static_cast<size_t>(std::bit_width(static_cast<unsigned>(replicas)));
  const Buffer there = context.RowCount();
  const Buffer spare = context.Scratch(levels * static_cast<size_t>(sizes.width) * sizeof(T));
  context.Run([=](const Task& task) {
    const auto* const from = task.At<const Index>(indices);
    FindUnique(from, sizes.rows, task.At<Index>(distinct), task.At<int32_t>(idx),
               task.At<int32_t>(table));
    const Contributions sorted = ByDistinct(from, task.At<int32_t>(idx), sizes.rows,
                                            task.At<int32_t>(begins), task.At<int32_t>(order));
    *task.At<int64_t>(there) = sorted.distinct;
    const SparseTree<T> tree(task.At<const T>(values), sizes);
    T* to = task.At<T>(sums);
    for (int64_t u = 0; u < sizes.rows; ++u, to += sizes.width) {
      const int32_t begin = sorted.begins[u];
      const auto count = static_cast<size_t>(sorted.begins[u + 1] - begin);
      if (u < sorted.distinct && count > 0) {
        tree.Add({sorted.order + begin, count}, 0, sizes.replicas, to, task.At<T>(spare));
      } else {
        std::fill_n(to, sizes.width, T(0));
      }
    }
  });
}

void PlanSumRows(PlanContext& context) {
  const bool wide = context.InputDType(0) == DType::kInt64;
  if (context.InputDType(1) == DType::kDouble) {
    return wide ? PlanSumRowsOf<double, int64_t>(context) : PlanSumRowsOf<double, int32_t>(context);
  }
  return wide ? PlanSumRowsOf<float, int64_t>(context) : PlanSumRowsOf<float, int32_t>(context);
}

// The result does not depend on the order in which the device adds.
void LowerSumRows(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloUnique unique = UniqueNumbers(hlo, c.Input(0));
  c.Output(0, unique.numbers);
  c.Output(1, hlo.ScatterRows("add", hlo.FullLike(c.Input(1), 0), unique.places, c.Input(1)));
}

const OpDef kReplicaRowOps[] = {
    {.name = "_GatherRowsOfReplicas",
     .signature = "indices: Tindices, values: T -> all_indices: Tindices, all_values: T; "
                  "replicas: int >= 1 <= 65536; T: float|double; Tindices: int32|int64",
     .shape = GatherRowsShape,
     .grad = NoGradient,
     .cpu = PlanGatherRows,
     .hlo = LowerGatherRows,
     .stateful = true,
     .gathers_replicas = true},
    {.name = "_SumRowsOfReplicas",
     .signature = "indices: Tindices, values: T -> distinct: Tindices, sums: T; replicas: int >= 1 "
                  "<= 65536; "
                  "T: float|double; Tindices: int32|int64",
     .shape = SumRowsShape,
     .grad = NoGradient,
     .cpu = PlanSumRows,
     .hlo = LowerSumRows,
     .flops = InputFlops,
     .fills_rows = true},
};

}  // namespace

OpFamily ReplicaRowOps() { return kReplicaRowOps; }

}  // namespace tpuest::ops
