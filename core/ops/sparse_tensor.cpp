// Ops on sparse tensors. A sparse tensor consists of three: indices int64 [n, rank], values [n],
// shape int64 [rank].

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/elementwise.h"
#include "core/ops/parsing.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

int64_t LengthOfVector(const Shape& shape) {
  return shape.known_rank() && shape.rank() == 1 ? shape.dim(0) : kUnknownDim;
}

// Checks the three inputs of a sparse tensor and returns its rank, or kUnknownDim if no shape gives
// it.
int64_t SparseRank(const ShapeContext& context, int indices, int shape) {
  NeedRank(context, context.Input(indices), 2, "indices");
  NeedRank(context, context.Input(shape), 1, "the dense shape");
  const int64_t sizes = LengthOfVector(context.Input(shape));
  const Shape& places = context.Input(indices);
  const int64_t columns = places.known_rank() ? places.dim(1) : kUnknownDim;
  if (sizes != kUnknownDim && columns != kUnknownDim && sizes != columns) {
    context.Fail(
        fmt::format("indices {} do not fit a dense shape of {} sizes", places.Text(), sizes));
  }
  return sizes == kUnknownDim ? columns : sizes;
}

// Row-major strides of sizes that are part of the data.
class CheckedSizes {
 public:
  CheckedSizes(const Node& node, std::vector<int64_t> sizes)
      : node_(&node), sizes_(std::move(sizes)) {
    for (const int64_t size : sizes_) {
      if (size < 0) FailInData(node, fmt::format("a size of the dense shape is {}", size));
      if (__builtin_mul_overflow(elements_, size, &elements_)) {
        FailInData(node, "the product of the sizes of the dense shape exceeds int64");
      }
    }
  }

  [[nodiscard]] const std::vector<int64_t>& sizes() const { return sizes_; }
  [[nodiscard]] int64_t elements() const { return elements_; }

  // The position of an index in the dense tensor.
  [[nodiscard]] int64_t PlaceOf(const int64_t* index) const {
    int64_t place = 0;
    for (size_t axis = 0; axis < sizes_.size(); ++axis) {
      if (index[axis] < 0 || index[axis] >= sizes_[axis]) {
        FailInData(*node_, fmt::format("index {} of axis {} is out of range for {}", index[axis],
                                       axis, Shape(sizes_).Text()));
      }
      place = place * sizes_[axis] + index[axis];
    }
    return place;
  }

  void IndexOf(int64_t place, int64_t* index) const {
    for (size_t axis = sizes_.size(); axis-- > 0;) {
      index[axis] = place % sizes_[axis];
      place /= sizes_[axis];
    }
  }

 private:
  const Node* node_;
  std::vector<int64_t> sizes_;
  int64_t elements_ = 1;
};

// The sizes in `wanted`; one of them may be -1 and is inferred.
CheckedSizes ReshapedSizes(const Node& node, const CheckedSizes& from,
                           std::vector<int64_t> wanted) {
  const auto open = std::find(wanted.begin(), wanted.end(), -1);
  if (open != wanted.end()) {
    *open = 1;
    const int64_t others = CheckedSizes(node, wanted).elements();
    if (others == 0) FailInData(node, "the size -1 cannot be inferred next to a size of 0");
    *open = from.elements() / others;
  }
  CheckedSizes to(node, std::move(wanted));
  if (to.elements() != from.elements()) {
    FailInData(node, fmt::format("{} has {} elements, but {} has {}", Shape(from.sizes()).Text(),
                                 from.elements(), Shape(to.sizes()).Text(), to.elements()));
  }
  return to;
}

void SparseReshapeShape(ShapeContext& context) {
  (void)SparseRank(context, 0, 1);
  NeedRank(context, context.Input(2), 1, "new_shape");
  const Shape& indices = context.Input(0);
  const int64_t rank = LengthOfVector(context.Input(2));
  context.Output(0, Shape({indices.known_rank() ? indices.dim(0) : kUnknownDim, rank}));
  context.Output(1, Shape({rank}));
}

std::vector<int64_t> IntegersAt(const Task& task, Buffer buffer, int64_t count) {
  const int64_t* const values = task.At<int64_t>(buffer);
  return {values, values + count};
}

void PlanSparseReshape(PlanContext& context) {
  const Node* const node = &context.node();
  const int64_t count = context.InputShape(0).dim(0);
  const int64_t from_rank = context.InputShape(1).dim(0);
  const int64_t to_rank = context.InputShape(2).dim(0);
  const Buffer indices = context.Input(0);
  const Buffer from_shape = context.Input(1);
  const Buffer new_shape = context.Input(2);
  const Buffer moved = context.Output(0);
  const Buffer to_shape = context.Output(1);
  context.Run([=](const Task& task) {
    const CheckedSizes from(*node, IntegersAt(task, from_shape, from_rank));
    const CheckedSizes to = ReshapedSizes(*node, from, IntegersAt(task, new_shape, to_rank));
    std::copy(to.sizes().begin(), to.sizes().end(), task.At<int64_t>(to_shape));
    const int64_t* index = task.At<int64_t>(indices);
    int64_t* out = task.At<int64_t>(moved);
    for (int64_t i = 0; i < count; ++i, index += from_rank, out += to_rank) {
      to.IndexOf(from.PlaceOf(index), out);
    }
  });
}

// The positions of a sparse tensor's entries after each empty row has received one.
struct FilledEntries {
  std::vector<int64_t> begins;  // the first entry of each row, then the number of all entries
  std::vector<char> is_empty;   // per row
};

FilledEntries FillRowsOf(const Node& node, const int64_t* indices, int64_t count, int64_t rank,
                         int64_t rows) {
  if (rows < 0 || rows > kMostSizedRows) {
    FailInData(node,
               fmt::format("the dense shape has {} rows, expected 0 to {}", rows, kMostSizedRows));
  }
  FilledEntries filled{std::vector<int64_t>(static_cast<size_t>(rows) + 1), {}};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices[i * rank];
    if (row < 0 || row >= rows) {
      FailInData(node,
                 fmt::format("index {} belongs to row {}, out of range for {} rows", i, row, rows));
    }
    ++filled.begins[static_cast<size_t>(row) + 1];
  }
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    int64_t& next = filled.begins[row + 1];
    filled.is_empty.push_back(static_cast<char>(next == 0));
    next = filled.begins[row] + std::max<int64_t>(next, 1);
  }
  return filled;
}

void FillEmptyRowsShape(ShapeContext& context) {
  const int64_t rank = SparseRank(context, 0, 2);
  NeedRank(context, context.Input(1), 1, "values");
  NeedRank(context, context.Input(3), 0, "default_value");
  if (rank == 0) context.Fail("the dense shape has no rows");
  const int64_t given = SharedRows(context, 0, 1);
  const Tensor indices = context.Constant(0);
  const auto shape = KnownIntegers(context, 2);
  int64_t rows = kUnknownDim;
  int64_t count = kUnknownDim;
  if (shape) rows = shape->front();
  if (indices.valid() && shape) {
    count = FillRowsOf(context.node(), indices.data<int64_t>(), given, rank, rows).begins.back();
  } else if (rows < 0 || rows > kMostSizedRows) {
    rows = kUnknownDim;
  }
  context.Output(0, Shape({count, rank}));
  context.Output(1, Shape({count}));
  context.Output(2, Shape({rows}));
  context.Output(3, Shape({given}));
}

BoundOp BindFillEmptyRows(const Node& node) { return SizedByInputs(node, {0, 2}); }

void PlanFillEmptyRows(PlanContext& context) {
  const Node* const node = &context.node();
  const int64_t count = context.InputShape(0).dim(0);
  const int64_t rank = context.InputShape(0).dim(1);
  const int64_t rows = context.OutputShape(2).dim(0);
  const int64_t places = context.OutputShape(0).dim(0);
  const size_t bytes = ElementBytes(context.OutputDType(1));
  const Buffer indices = context.Input(0);
  const Buffer values = context.Input(1);
  const Buffer otherwise = context.Input(3);
  const Buffer out_indices = context.Output(0);
  const Buffer out_values = context.Output(1);
  const Buffer empty = context.Output(2);
  const Buffer moved = context.Output(3);
  context.Run([=](const Task& task) {
    const int64_t* const from = task.At<int64_t>(indices);
    FilledEntries filled = FillRowsOf(*node, from, count, rank, rows);
    Check(filled.begins.back() == places, "'{}' is planned for other indices", node->name());
    int64_t* const to = task.At<int64_t>(out_indices);
    char* const to_values = task.At<char>(out_values);
    const auto write = [&](int64_t place, const void* value) {
      std::memcpy(to_values + static_cast<size_t>(place) * bytes, value, bytes);
    };
    std::copy(filled.is_empty.begin(), filled.is_empty.end(), task.At<char>(empty));
    for (size_t row = 0; row < filled.is_empty.size(); ++row) {
      if (filled.is_empty[row] == 0) continue;
      int64_t* const index = to + filled.begins[row] * rank;
      std::fill_n(index, rank, 0);
      index[0] = static_cast<int64_t>(row);
      write(filled.begins[row], task.At<char>(otherwise));
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = filled.begins[static_cast<size_t>(from[i * rank])]++;
      std::copy_n(from + i * rank, rank, to + place * rank);
      write(place, task.At<char>(values) + static_cast<size_t>(i) * bytes);
      task.At<int64_t>(moved)[i] = place;
    }
  });
}

// The numbers 0 .. n-1 of the elements of a vector, int64.
Value ElementNumbers(Value vector) {
  Graph& graph = vector.graph();
  return Range(graph.Scalar<int64_t>(0), Size(vector, DType::kInt64), graph.Scalar<int64_t>(1));
}

// Each value gets the gradient at its new position; the default gets that of all other positions.
void FillEmptyRowsGrad(GradContext& c) {
  const Value dy = c.Dy(1);
  if (!dy.valid()) return;
  const Value moved = c.output(3);
  if (c.Wants(1)) c.SetDx(1, GatherV2(dy, moved));
  if (!c.Wants(3)) return;
  const Value ones = OnesLike(Cast(moved, dy.dtype()));
  const Value taken = UnsortedSegmentSum(ones, moved, Size(dy));
  c.SetDx(3, Sum(Mul(dy, Sub(1.0, taken))));
}

// The part of each axis that SparseSlice takes.
struct SparsePart {
  std::vector<int64_t> start;
  std::vector<int64_t> size;

  // Returns false for an index outside; otherwise writes the index within the part to `inside`,
  // unless it is null.
  bool Holds(const int64_t* index, int64_t* inside) const {
    for (size_t axis = 0; axis < size.size(); ++axis) {
      const bool holds = index[axis] >= start[axis] && index[axis] - start[axis] < size[axis];
      if (!holds) return false;
    }
    for (size_t axis = 0; inside != nullptr && axis < size.size(); ++axis) {
      inside[axis] = index[axis] - start[axis];
    }
    return true;
  }
};

SparsePart PartOfSparse(const Node& node, const std::vector<int64_t>& whole,
                        std::vector<int64_t> start, std::vector<int64_t> size) {
  if (start.size() != whole.size() || size.size() != whole.size()) {
    FailInData(node, fmt::format("start has {} numbers and size has {}, expected {}", start.size(),
                                 size.size(), whole.size()));
  }
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    if (start[axis] < 0 || size[axis] < 0) {
      FailInData(node, fmt::format("axis {} starts at {} and has size {}; both must be at least 0",
                                   axis, start[axis], size[axis]));
    }
    const int64_t left = std::max<int64_t>(whole[axis], 0) - start[axis];
    size[axis] = std::max<int64_t>(0, std::min(size[axis], left));
  }
  return {std::move(start), std::move(size)};
}

void SparseSliceShape(ShapeContext& context) {
  const int64_t rank = SparseRank(context, 0, 2);
  NeedRank(context, context.Input(1), 1, "values");
  NeedRank(context, context.Input(3), 1, "start");
  NeedRank(context, context.Input(4), 1, "size");
  const int64_t given = SharedRows(context, 0, 1);
  const Tensor indices = context.Constant(0);
  const auto shape = KnownIntegers(context, 2);
  const auto start = KnownIntegers(context, 3);
  const auto size = KnownIntegers(context, 4);
  int64_t count = kUnknownDim;
  if (indices.valid() && shape && start && size) {
    const SparsePart part = PartOfSparse(context.node(), *shape, *start, *size);
    count = 0;
    for (int64_t i = 0; i < given; ++i) {
      count += part.Holds(indices.data<int64_t>() + i * rank, nullptr) ? 1 : 0;
    }
  }
  context.Output(0, Shape({count, rank}));
  context.Output(1, Shape({count}));
  context.Output(2, Shape({rank}));
}

BoundOp BindSparseSlice(const Node& node) { return SizedByInputs(node, {0, 2, 3, 4}); }

void PlanSparseSlice(PlanContext& context) {
  const Node* const node = &context.node();
  const int64_t count = context.InputShape(0).dim(0);
  const int64_t rank = context.InputShape(0).dim(1);
  const int64_t room = context.OutputShape(1).dim(0);
  const size_t bytes = ElementBytes(context.OutputDType(1));
  const Buffer indices = context.Input(0);
  const Buffer values = context.Input(1);
  const Buffer shape = context.Input(2);
  const Buffer start = context.Input(3);
  const Buffer size = context.Input(4);
  const Buffer out_indices = context.Output(0);
  const Buffer out_values = context.Output(1);
  const Buffer out_shape = context.Output(2);
  context.Run([=](const Task& task) {
    const SparsePart part =
        PartOfSparse(*node, IntegersAt(task, shape, rank), IntegersAt(task, start, rank),
                     IntegersAt(task, size, rank));
    std::copy(part.size.begin(), part.size.end(), task.At<int64_t>(out_shape));
    int64_t taken = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t* const index = task.At<int64_t>(indices) + i * rank;
      if (!part.Holds(index, nullptr)) continue;
      Check(taken < room, "'{}' is planned for other indices", node->name());
      (void)part.Holds(index, task.At<int64_t>(out_indices) + taken * rank);
      std::memcpy(task.At<char>(out_values) + static_cast<size_t>(taken) * bytes,
                  task.At<char>(values) + static_cast<size_t>(i) * bytes, bytes);
      ++taken;
    }
  });
}

// For ops that select values unchanged: the gradient goes to the selected values, which the same op
// finds when it is applied to the positions of all values.
void TakenValuesGrad(GradContext& c) {
  const Value dy = c.Dy(1);
  if (!dy.valid() || !c.Wants(1)) return;
  std::vector<Value> inputs = c.node().inputs();
  inputs[1] = ElementNumbers(inputs[1]);
  Node* const numbers = c.graph().AddNode(c.node().type(), inputs);
  c.SetDx(1, UnsortedSegmentSum(dy, numbers->output(1), Size(c.input(1))));
}

void SparseReorderShape(ShapeContext& context) {
  const int64_t rank = SparseRank(context, 0, 2);
  NeedRank(context, context.Input(1), 1, "values");
  const int64_t count = SharedRows(context, 0, 1);
  context.Output(0, Shape({count, rank}));
  context.Output(1, Shape({count}));
}

// Sorts the indices in row-major order; the sort is stable.
void PlanSparseReorder(PlanContext& context) {
  const int64_t count = context.InputShape(0).dim(0);
  const int64_t rank = context.InputShape(0).dim(1);
  const size_t bytes = ElementBytes(context.OutputDType(1));
  const Buffer indices = context.Input(0);
  const Buffer values = context.Input(1);
  const Buffer out_indices = context.Output(0);
  const Buffer out_values = context.Output(1);
  context.Run([=](const Task& task) {
    const int64_t* const from = task.At<int64_t>(indices);
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(from + a * rank, from + (a + 1) * rank, from + b * rank,
                                          from + (b + 1) * rank);
    });
    for (int64_t i = 0; i < count; ++i) {
      const int64_t source = order[static_cast<size_t>(i)];
      std::copy_n(from + source * rank, rank, task.At<int64_t>(out_indices) + i * rank);
      std::memcpy(task.At<char>(out_values) + static_cast<size_t>(i) * bytes,
                  task.At<char>(values) + static_cast<size_t>(source) * bytes, bytes);
    }
  });
}

const OpDef kSparseTensorOps[] = {
    {.name = "SparseReshape",
     .signature = "input_indices: int64, input_shape: int64, new_shape: int64 -> "
                  "output_indices: int64, output_shape: int64",
     .shape = SparseReshapeShape,
     .grad = NoGradient,
     .cpu = PlanSparseReshape,
     .host = true},
    {.name = "SparseFillEmptyRows",
     .signature = "indices: int64, values: T, dense_shape: int64, default_value: T -> "
                  "output_indices: int64, output_values: T, empty_row_indicator: bool, "
                  "reverse_index_map: int64; T: type",
     .shape = FillEmptyRowsShape,
     .grad = FillEmptyRowsGrad,
     .cpu = PlanFillEmptyRows,
     .bind = BindFillEmptyRows,
     .host = true},
    {.name = "SparseSlice",
     .signature = "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
                  "output_indices: int64, output_values: T, output_shape: int64; T: type",
     .shape = SparseSliceShape,
     .grad = TakenValuesGrad,
     .cpu = PlanSparseSlice,
     .bind = BindSparseSlice,
     .host = true},
    {.name = "SparseReorder",
     .signature = "input_indices: int64, input_values: T, input_shape: int64 -> "
                  "output_indices: int64, output_values: T; T: type",
     .shape = SparseReorderShape,
     .grad = TakenValuesGrad,
     .cpu = PlanSparseReorder,
     .host = true},
};

}  // namespace

OpFamily SparseTensorOps() { return kSparseTensorOps; }

}  // namespace tpuest::ops
