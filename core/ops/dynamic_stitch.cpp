// Distributes rows over lists, and merges the rows of lists.

#include <algorithm>
#include <cstring>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

// True if `shape` begins with `front`, as far as both are known.
bool BeginsWith(const Shape& shape, const Shape& front) {
  if (!shape.known_rank() || !front.known_rank()) return true;
  if (shape.rank() < front.rank()) return false;
  return Compatible(
      Shape(std::vector<int64_t>(shape.dims().begin(), shape.dims().begin() + front.rank())),
      front);
}

// Returns [rows] + `shape` without its first front.rank() axes.
Shape RowsBehind(int64_t rows, const Shape& shape, const Shape& front) {
  if (!shape.known_rank() || !front.known_rank()) return Shape::UnknownRank();
  std::vector<int64_t> dims = {rows};
  dims.insert(dims.end(), shape.dims().begin() + front.rank(), shape.dims().end());
  return Shape(std::move(dims));
}

int64_t ElementsBehind(const Shape& shape, const Shape& front) {
  int64_t elements = 1;
  for (int d = front.rank(); d < shape.rank(); ++d) elements *= shape.dim(d);
  return elements;
}

[[noreturn]] void FailInPartition(const Node& node, int64_t i, int64_t list, int64_t lists) {
  FailInData(node, fmt::format("partitions[{}] is {}, out of range for {} lists", i, list, lists));
}

void DynamicPartitionShape(ShapeContext& context) {
  const Node& node = context.node();
  const Shape& data = context.Input(0);
  const Shape& partitions = context.Input(1);
  if (!BeginsWith(data, partitions)) {
    context.Fail(fmt::format("partitions {} are not the first axes of data {}", partitions.Text(),
                             data.Text()));
  }
  std::vector<int64_t> counts(static_cast<size_t>(node.outputs()), kUnknownDim);
  if (const auto known = KnownIntegers(context, 1)) {
    std::fill(counts.begin(), counts.end(), 0);
    for (size_t i = 0; i < known->size(); ++i) {
      const int64_t list = (*known)[i];
      if (list < 0 || list >= node.outputs()) {
        FailInPartition(node, static_cast<int64_t>(i), list, node.outputs());
      }
      ++counts[static_cast<size_t>(list)];
    }
  }
  for (int i = 0; i < node.outputs(); ++i) {
    context.Output(i, RowsBehind(counts[static_cast<size_t>(i)], data, partitions));
  }
}

BoundOp BindDynamicPartition(const Node& node) { return SizedByInputs(node, {1}); }

void PlanDynamicPartition(PlanContext& context) {
  const Node* const node = &context.node();
  const int64_t rows = context.InputShape(1).elements();
  const size_t bytes =
      static_cast<size_t>(ElementsBehind(context.InputShape(0), context.InputShape(1))) *
      ElementBytes(context.InputDType(0));
  const Buffer data = context.Input(0);
  const Buffer partitions = context.Input(1);
  std::vector<Buffer> lists;
  std::vector<int64_t> room;
  for (int i = 0; i < node->outputs(); ++i) {
    lists.push_back(context.Output(i));
    room.push_back(context.OutputShape(i).dim(0));
  }
  context.Run([=](const Task& task) {
    std::vector<int64_t> next(lists.size());
    for (int64_t i = 0; i < rows; ++i) {
      const auto list = static_cast<size_t>(task.At<int32_t>(partitions)[i]);
      Check(list < lists.size() && next[list] < room[list], "'{}' is planned for other partitions",
            node->name());
      std::memcpy(task.At<char>(lists[list]) + static_cast<size_t>(next[list]++) * bytes,
                  task.At<char>(data) + static_cast<size_t>(i) * bytes, bytes);
    }
  });
}

// Partitions the row numbers like the rows, to find the position of each row's gradient.
void DynamicPartitionGrad(GradContext& c) {
  const Value partitions = c.input(1);
  const auto lists = c.node().Attr<int64_t>("num_partitions");
  const Value rows =
      Reshape(Range(c.graph().Scalar<int32_t>(0), Size(partitions), c.graph().Scalar<int32_t>(1)),
              ShapeOf(partitions));
  Node* const dealt =
      c.graph().AddNode("DynamicPartition", {rows, partitions}, {{"num_partitions", lists}});
  std::vector<Value> inputs;
  for (int i = 0; i < dealt->outputs(); ++i) inputs.push_back(dealt->output(i));
  for (int i = 0; i < dealt->outputs(); ++i) {
    const Value dy = c.Dy(i);
    inputs.push_back(dy.valid() ? dy : ZerosLike(c.output(i)));
  }
  c.SetDx(0, Reshape(c.graph().Add("ParallelDynamicStitch", inputs, {{"N", lists}}),
                     ShapeOf(c.input(0))));
}

int StitchedLists(const Node& node) { return static_cast<int>(node.inputs().size()) / 2; }

void DynamicStitchShape(ShapeContext& context) {
  const int lists = StitchedLists(context.node());
  int64_t rows = 0;
  Shape row = Shape::UnknownRank();
  for (int i = 0; i < lists; ++i) {
    const Shape& places = context.Input(i);
    const Shape& data = context.Input(lists + i);
    if (!BeginsWith(data, places)) {
      context.Fail(fmt::format("indices[{}] {} are not the first axes of data[{}] {}", i,
                               places.Text(), i, data.Text()));
    }
    const std::optional<Shape> both = MergeOf(row, RowsBehind(kUnknownDim, data, places));
    if (!both) context.Fail(fmt::format("data[{}] {} has rows of another shape", i, data.Text()));
    row = *both;
    const auto known = KnownIntegers(context, i);
    for (size_t k = 0; known && k < known->size(); ++k) {
      const int64_t place = (*known)[k];
      if (place < 0 || place >= kMostSizedRows) {
        FailInData(context.node(), fmt::format("indices[{}] names row {}, expected 0 to {}", i,
                                               place, kMostSizedRows - 1));
      }
      if (rows != kUnknownDim) rows = std::max(rows, place + 1);
    }
    if (!known) rows = kUnknownDim;
  }
  if (row.known_rank()) row.set_dim(0, rows);
  context.Output(0, row);
}

BoundOp BindDynamicStitch(const Node& node) {
  std::vector<int> inputs;
  for (int i = 0; i < StitchedLists(node); ++i) inputs.push_back(i);
  return SizedByInputs(node, std::move(inputs));
}

// If several inputs give a row, the last one counts; a row that none gives is zeros or empty
// strings.
void PlanDynamicStitch(PlanContext& context) {
  struct List {
    Buffer places;
    Buffer data;
    int64_t count = 0;
  };
  const Node* const node = &context.node();
  const int lists = StitchedLists(*node);
  std::vector<List> all;
  for (int i = 0; i < lists; ++i) {
    all.push_back({context.Input(i), context.Input(lists + i), context.InputShape(i).elements()});
  }
  const Shape& out_shape = context.OutputShape(0);
  const int64_t rows = out_shape.dim(0);
  const size_t bytes = static_cast<size_t>(ElementsBehind(out_shape, Shape({rows}))) *
                       ElementBytes(context.OutputDType(0));
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) {
    char* const to = task.At<char>(out);
    std::memset(to, 0, static_cast<size_t>(rows) * bytes);
    for (const List& list : all) {
      for (int64_t i = 0; i < list.count; ++i) {
        const int64_t place = task.At<int32_t>(list.places)[i];
        Check(place >= 0 && place < rows, "'{}' is planned for other indices", node->name());
        std::memcpy(to + static_cast<size_t>(place) * bytes,
                    task.At<char>(list.data) + static_cast<size_t>(i) * bytes, bytes);
      }
    }
  });
}

// Each row gets the gradient at the position to which it was copied, as in TensorFlow.
void DynamicStitchGrad(GradContext& c) {
  const int lists = StitchedLists(c.node());
  for (int i = 0; i < lists; ++i) {
    if (c.Wants(lists + i)) c.SetDx(lists + i, GatherV2(c.Dy(), c.input(i)));
  }
}

constexpr std::string_view kStitchSignature =
    "indices: N*int32, data: N*T -> merged: T; N: int >= 1; T: type";

const OpDef kStitchOps[] = {
    {.name = "DynamicPartition",
     .signature =
         "data: T, partitions: int32 -> outputs: num_partitions*T; num_partitions: int >= 1; "
         "T: type",
     .shape = DynamicPartitionShape,
     .grad = DynamicPartitionGrad,
     .cpu = PlanDynamicPartition,
     .bind = BindDynamicPartition,
     .host = true},
    {.name = "DynamicStitch",
     .signature = kStitchSignature,
     .shape = DynamicStitchShape,
     .grad = DynamicStitchGrad,
     .cpu = PlanDynamicStitch,
     .bind = BindDynamicStitch,
     .host = true},
    {.name = "ParallelDynamicStitch",
     .signature = kStitchSignature,
     .shape = DynamicStitchShape,
     .grad = DynamicStitchGrad,
     .cpu = PlanDynamicStitch,
     .bind = BindDynamicStitch,
     .host = true},
};

}  // namespace

OpFamily StitchOps() { return kStitchOps; }

}  // namespace tpuest::ops
