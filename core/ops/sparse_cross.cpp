// Combinations of the values of several columns, hashed.

#include <algorithm>
#include <limits>

#include "core/base/text.h"
#include "core/graph/bound_op.h"
#include "core/kernels/fingerprint.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/shape_rules.h"
#include "core/ops/strings.h"

namespace tpuest::ops {
namespace {

// The value as the op takes it: a matrix of strings or int64.
Value AsColumns(Value x) {
  if (x.shape().known_rank() && x.shape().rank() == 1) x = ExpandDims(x, 1);
  return x.dtype() == DType::kString || x.dtype() == DType::kInt64 ? x : Cast(x, DType::kInt64);
}

// Shapes the crosses, which come one behind the other, as [B, crosses of a row]; -1 leaves the
// number that is not known to Reshape.
Value CrossedRows(Value crosses, const std::vector<Value>& dense) {
  int64_t each = 1;
  for (const Value& x : dense) {
    const int64_t values = x.shape().known_rank() ? x.shape().dim(1) : kUnknownDim;
    each = each == kUnknownDim || values == kUnknownDim ? kUnknownDim : each * values;
  }
  if (each != kUnknownDim) return Reshape(crosses, Shape({kUnknownDim, each}));
  Graph& graph = crosses.graph();
  const Value batch =
      StridedSlice(ShapeOf(dense.front()), {.begin = {0}, .end = {1}, .shrink_axis_mask = 1});
  return Reshape(crosses, Pack({batch, graph.Scalar<int32_t>(-1)}));
}

}  // namespace

Value SparseCrossHashed(std::vector<Value> dense, int64_t num_buckets, uint64_t hash_key,
                        std::string_view name) {
  Check(!dense.empty(), "a cross of nothing");
  Graph& graph = dense.front().graph();
  const NameScope scope(graph, name.empty() ? "SparseCross" : name);
  std::vector<DType> types;
  bool integers = false;
  for (Value& x : dense) {
    x = AsColumns(x);
    types.push_back(x.dtype());
    integers |= x.dtype() == DType::kInt64;
  }
  Node* const node = graph.AddNode("SparseCross", dense,
                                   {{"N", int64_t{0}},
                                    {"sparse_types", std::vector<DType>()},
                                    {"dense_types", types},
                                    {"hashed_output", true},
                                    {"num_buckets", num_buckets},
                                    {"hash_key", static_cast<int64_t>(hash_key)},
                                    {"out_type", DType::kInt64},
                                    {"internal_type", integers ? DType::kInt64 : DType::kString}});
  return CrossedRows(node->output(1), dense);
}

namespace {

// The number of crosses must fit int32, as sizes of shapes do.
void CheckCount(const ShapeContext& context, int64_t batch, const std::vector<int64_t>& widths) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  double crosses = batch == kUnknownDim ? 1 : static_cast<double>(batch);
  for (const int64_t width : widths) crosses *= static_cast<double>(width);
  if (crosses <= static_cast<double>(kMost)) return;
  std::vector<std::string> lists;
  for (const int64_t width : widths) lists.push_back(std::to_string(width));
  context.Fail(
      fmt::format("a batch of {} rows with lists of {} values makes more than {} crosses; "
                  "fewer keys, shorter lists or a smaller batch make fewer",
                  batch == kUnknownDim ? "any" : std::to_string(batch), Join(lists, " x "), kMost));
}

void SparseCrossShape(ShapeContext& context) {
  const Node& node = context.node();
  const auto dense = static_cast<int>(node.Attr<std::vector<DType>>("dense_types").size());
  const auto types = static_cast<int64_t>(node.Attr<std::vector<DType>>("sparse_types").size());
  if (types != node.Attr<int64_t>("N")) {
    context.Fail(
        fmt::format("{} sparse_types for {} sparse inputs", types, node.Attr<int64_t>("N")));
  }
  const bool has_sparse = node.Attr<int64_t>("N") > 0;
  bool known = !has_sparse;
  int64_t batch = kUnknownDim;
  std::vector<int64_t> widths;
  for (int i = context.inputs() - dense; i < context.inputs(); ++i) {
    const Shape& x = context.Input(i);
    NeedRank(context, x, 2, "a dense input");
    if (!x.known_rank()) {
      known = false;
      continue;
    }
    const int64_t rows = x.dim(0);
    if (rows != kUnknownDim && batch != kUnknownDim && rows != batch) {
      context.Fail(fmt::format("crosses inputs of as many rows, found {} and {}", batch, rows));
    }
    if (rows != kUnknownDim) batch = rows;
    known = known && x.dim(1) != kUnknownDim;
    widths.push_back(x.dim(1));
  }
  if (known) CheckCount(context, batch, widths);
  int64_t crosses = known ? batch : kUnknownDim;
  for (const int64_t width : widths) crosses = crosses == kUnknownDim ? crosses : crosses * width;
  context.Output(0, {crosses, 2});
  // Crosses of lists are as many as the data say, and no rows of the batch: what reads them is not
  // for the device until they are shaped to rows.
  const bool rows = std::all_of(widths.begin(), widths.end(), [](int64_t w) { return w == 1; });
  context.Output(1, crosses == kUnknownDim && !(rows && !has_sparse) ? Shape::UnknownRank()
                                                                     : Shape({crosses}));
  context.Output(2, {2});
}

[[noreturn]] void Refuse(const Node& node, const std::string& what, std::string hint = "") {
  throw Error(Code::kUsage, fmt::format("SparseCross '{}': {}", node.name(), what), std::move(hint))
      .At(node.origin());
}

// One dense input, and what its values are hashed to.
class Column {
 public:
  Column(PlanContext& context, int i)
      : values_(context.Input(i)),
        width_(context.InputShape(i).dim(1)),
        strings_(context.InputDType(i) == DType::kString) {}

  [[nodiscard]] int64_t width() const { return width_; }
  void AddHashes(const Task& task, int64_t row, std::vector<uint64_t>& hashes) const {
    for (int64_t k = row * width_; k < (row + 1) * width_; ++k) {
      hashes.push_back(strings_ ? Fingerprint64(task.At<std::string_view>(values_)[k])
                                : static_cast<uint64_t>(task.At<int64_t>(values_)[k]));
    }
  }

 private:
  Buffer values_;
  int64_t width_;
  bool strings_;
};

class Crosser {
 public:
  explicit Crosser(PlanContext& context) {
    const Node& node = context.node();
    if (!context.Attr<bool>("hashed_output")) Refuse(node, "gives hashed crosses only");
    if (context.inputs() == 0) Refuse(node, "there is nothing to cross");
    for (int i = 0; i < context.inputs(); ++i) {
      columns_.emplace_back(context, i);
    }
    batch_ = context.InputShape(0).dim(0);
    CountCrosses(node);
    const auto buckets = static_cast<uint64_t>(context.Attr<int64_t>("num_buckets"));
    modulus_ = buckets > 0 ? buckets : static_cast<uint64_t>(INT64_MAX);
    key_ = static_cast<uint64_t>(context.Attr<int64_t>("hash_key"));
    if (context.OutputIsUsed(0)) indices_ = context.Output(0);
    values_ = context.Output(1);
    if (context.OutputIsUsed(2)) shape_ = context.Output(2);
  }

  void Run(const Task& task) const {
    if (indices_.id >= 0) WriteIndices(task.At<int64_t>(indices_));
    if (shape_.id >= 0) {
      task.At<int64_t>(shape_)[0] = batch_;
      task.At<int64_t>(shape_)[1] = each_;
    }
    std::vector<uint64_t> hashes;  // of the row's values, column by column
    int64_t* out = task.At<int64_t>(values_);
    for (int64_t row = 0; row < batch_; ++row) {
      hashes.clear();
      for (const Column& column : columns_) column.AddHashes(task, row, hashes);
      if (each_ > 0) Cross(key_, 0, hashes.data(), out);
    }
  }

 private:
  // The number of crosses must fit int32, as sizes of shapes do.
  void CountCrosses(const Node& node) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const bool empty = batch_ == 0 || std::any_of(columns_.begin(), columns_.end(),
                                                  [](const Column& c) { return c.width() == 0; });
    std::vector<std::string> widths;
    for (const Column& column : columns_) widths.push_back(std::to_string(column.width()));
    for (const Column& column : columns_) {
      if (!empty && column.width() > kMost / batch_ / each_) {
        Refuse(node,
               fmt::format("{} rows with lists of {} values make more than {} crosses", batch_,
                           Join(widths, " x "), kMost),
               "fewer keys, shorter lists or a smaller batch make fewer");
      }
      each_ *= column.width();
    }
  }

  void WriteIndices(int64_t* indices) const {
    for (int64_t row = 0; row < batch_; ++row) {
      for (int64_t k = 0; k < each_; ++k) {
        *indices++ = row;
        *indices++ = k;
      }
    }
  }

  // Writes all crosses that begin with `hash` and end with columns from `at` on.
  void Cross(uint64_t hash, size_t at, const uint64_t* hashes, int64_t*& out) const {
    if (at == columns_.size()) {
      *out++ = static_cast<int64_t>(hash % modulus_);
      return;
    }
    const int64_t width = columns_[at].width();
    for (int64_t k = 0; k < width; ++k) {
      Cross(FingerprintCat64(hash, hashes[k]), at + 1, hashes + width, out);
    }
  }

  std::vector<Column> columns_;
  int64_t batch_ = 0;
  int64_t each_ = 1;  // crosses of a row
  uint64_t modulus_ = 1;
  uint64_t key_ = 0;
  Buffer indices_;  // id -1: nobody reads them
  Buffer values_;
  Buffer shape_;
};

BoundOp BindSparseCross(const Node& node) {
  if (node.Attr<int64_t>("N") > 0) Refuse(node, "crosses dense inputs only");
  return {node.type(), node.attrs()};
}

void PlanSparseCross(PlanContext& context) {
  context.Run([crosser = Crosser(context)](const Task& task) { crosser.Run(task); });
}

const OpDef kCrossOps[] = {
    {.name = "SparseCross",
     .signature =
         "indices: N*int64, values: list(sparse_types), shapes: N*int64, "
         "dense_inputs: list(dense_types) -> output_indices: int64, "
         "output_values: out_type, output_shape: int64; N: int >= 0; hashed_output: bool; "
         "num_buckets: int >= 0; hash_key: int; sparse_types: list(int64|string); "
         "dense_types: list(int64|string); out_type: int64|string; internal_type: int64|string",
     .shape = SparseCrossShape,
     .grad = NoGradient,
     .cpu = PlanSparseCross,
     .bind = BindSparseCross,
     .host = true},
};

}  // namespace

OpFamily CrossOps() { return kCrossOps; }

}  // namespace tpuest::ops
