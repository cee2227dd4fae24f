// Hashed combinations of the values of several columns.

#include <algorithm>
#include <limits>

#include "core/base/text.h"
#include "core/graph/bound_op.h"
#include "core/kernels/fingerprint.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/elementwise.h"
#include "core/ops/shape_rules.h"
#include "core/ops/strings.h"

namespace tpuest::ops {
namespace {

// Converts a value to the form that the op takes: a matrix of strings or int64.
Value AsColumns(Value x) {
  if (x.shape().known_rank() && x.shape().rank() == 1) x = ExpandDims(x, 1);
  return x.dtype() == DType::kString || x.dtype() == DType::kInt64 ? x : Cast(x, DType::kInt64);
}

// Reshapes the concatenated crosses to [B, crosses per row]; -1 lets Reshape infer the unknown
// size.
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
  Check(!dense.empty(), "a cross needs an input");
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

// The number of crosses must fit int32, as dimensions do.
void CheckCount(const ShapeContext& context, int64_t batch, const std::vector<int64_t>& widths) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  double crosses = batch == kUnknownDim ? 1 : static_cast<double>(batch);
  for (const int64_t width : widths) crosses *= static_cast<double>(width);
  if (crosses <= static_cast<double>(kMost)) return;
  std::vector<std::string> lists;
  for (const int64_t width : widths) lists.push_back(std::to_string(width));
  context.Fail(
      fmt::format("a batch of {} rows with lists of {} values gives more than {} crosses; use "
                  "fewer keys, shorter lists or a smaller batch",
                  batch == kUnknownDim ? "any" : std::to_string(batch), Join(lists, " x "), kMost));
}

// The values of each row in a sparse input, whose indices [n, 2] and values [n] are sorted by row.
std::vector<int64_t> ValuesOfRows(const Node& node, const int64_t* indices, int64_t count,
                                  int64_t rank, int64_t rows) {
  std::vector<int64_t> counts(static_cast<size_t>(rows));
  int64_t before = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices[i * rank];
    if (row < before || row >= rows) {
      FailInData(node, fmt::format(
                           "index {} belongs to row {}, after row {} of {}: indices must be sorted",
                           i, row, before, rows));
    }
    ++counts[static_cast<size_t>(row)];
    before = row;
  }
  return counts;
}

// Returns the rows of a batch from the shape [rows, ...] of a sparse input.
int64_t SparseBatch(const Node& node, const std::vector<int64_t>& shape) {
  if (shape.empty() || shape[0] < 0 || shape[0] > kMostSizedRows) {
    FailInData(node, fmt::format("crosses batches of 0 to {} rows", kMostSizedRows));
  }
  return shape[0];
}

// The number of crosses of all rows, if the indices of each sparse input are constants.
int64_t CountSparseCrosses(const ShapeContext& context, int64_t batch,
                           const std::vector<int64_t>& widths) {
  const auto sparse = static_cast<int>(context.node().Attr<int64_t>("N"));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto times = [](int64_t crosses, int64_t values) {
    return __builtin_mul_overflow(crosses, values, &crosses) ? kMost + 1 : crosses;
  };
  std::vector<int64_t> crosses(static_cast<size_t>(batch), 1);
  for (const int64_t width : widths) {
    for (int64_t& of_row : crosses) of_row = times(of_row, width);
  }
  for (int i = 0; i < sparse; ++i) {
    const Tensor indices = context.Constant(i);
    const std::vector<int64_t> counts =
        ValuesOfRows(context.node(), indices.data<int64_t>(), indices.shape().dim(0),
                     indices.shape().dim(1), batch);
    for (size_t row = 0; row < crosses.size(); ++row) {
      crosses[row] = times(crosses[row], counts[row]);
    }
  }
  int64_t all = 0;
  for (const int64_t of_row : crosses) all = std::min(all + std::min(of_row, kMost + 1), kMost + 1);
  if (all > kMost) FailInData(context.node(), fmt::format("gives more than {} crosses", kMost));
  return all;
}

// Checks the indices [n, 2], values [n] and shape [2] of each sparse input. Returns the number of
// rows, or kUnknownDim if no input's values give it.
int64_t CheckSparse(const ShapeContext& context) {
  const Node& node = context.node();
  const auto sparse = static_cast<int>(node.Attr<int64_t>("N"));
  int64_t batch = kUnknownDim;
  for (int i = 0; i < sparse; ++i) {
    NeedRank(context, context.Input(i), 2, "indices");
    NeedRank(context, context.Input(sparse + i), 1, "values");
    (void)SharedRows(context, i, sparse + i);
    if (context.Input(i).known_rank() && context.Input(i).dim(1) == 0) {
      context.Fail("indices have no rows");
    }
    const auto shape = KnownIntegers(context, 2 * sparse + i);
    if (!shape) continue;
    const int64_t rows = SparseBatch(node, *shape);
    if (batch != kUnknownDim && rows != batch) {
      context.Fail(
          fmt::format("crosses inputs with the same number of rows, found {} and {}", batch, rows));
    }
    batch = rows;
  }
  return batch;
}

BoundOp BindSparseCross(const Node& node) {
  const auto sparse = static_cast<int>(node.Attr<int64_t>("N"));
  std::vector<int> sizing;
  for (int i = 0; i < sparse; ++i) {
    sizing.push_back(i);
    sizing.push_back(2 * sparse + i);
  }
  if (sparse == 0) return {node.type(), node.attrs()};
  return SizedByInputs(node, std::move(sizing));
}

void SparseCrossShape(ShapeContext& context) {
  const Node& node = context.node();
  const auto dense = static_cast<int>(node.Attr<std::vector<DType>>("dense_types").size());
  const auto sparse = static_cast<int>(node.Attr<int64_t>("N"));
  const bool has_sparse = sparse > 0;
  const size_t types = node.Attr<std::vector<DType>>("sparse_types").size();
  if (types != static_cast<size_t>(sparse) || context.inputs() != 3 * sparse + dense) {
    context.Fail(fmt::format("found {} sparse_types for {} sparse inputs", types, sparse));
  }
  const int64_t sparse_batch = CheckSparse(context);
  bool known = !has_sparse;
  int64_t batch = sparse_batch;
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
      context.Fail(
          fmt::format("crosses inputs with the same number of rows, found {} and {}", batch, rows));
    }
    if (rows != kUnknownDim) batch = rows;
    known = known && x.dim(1) != kUnknownDim;
    widths.push_back(x.dim(1));
  }
  if (known) CheckCount(context, batch, widths);
  int64_t crosses = known ? batch : kUnknownDim;
  for (const int64_t width : widths) crosses = crosses == kUnknownDim ? crosses : crosses * width;
  bool counts_sparse = has_sparse && batch != kUnknownDim;
  for (const int64_t width : widths) counts_sparse = counts_sparse && width != kUnknownDim;
  for (int i = 0; i < sparse; ++i) {
    counts_sparse = counts_sparse && context.Constant(i).valid();
  }
  if (counts_sparse) crosses = CountSparseCrosses(context, batch, widths);
  context.Output(0, {crosses, 2});
  // The number of crosses of lists depends on the data, and they are not rows of the batch: their
  // readers run on the host until the crosses are reshaped to rows.
  const bool rows = std::all_of(widths.begin(), widths.end(), [](int64_t w) { return w == 1; });
  context.Output(1, crosses == kUnknownDim && !(rows && !has_sparse) ? Shape::UnknownRank()
                                                                     : Shape({crosses}));
  context.Output(2, {2});
}

[[noreturn]] void Refuse(const Node& node, const std::string& what, std::string hint = "") {
  throw Error(Code::kUsage, fmt::format("SparseCross '{}': {}", node.name(), what), std::move(hint))
      .At(node.origin());
}

// An input and the hashes of its values. A sparse input stores the values of a row side by side.
class Column {
 public:
  Column(PlanContext& context, int i)
      : values_(context.Input(i)),
        width_(context.InputShape(i).dim(1)),
        strings_(context.InputDType(i) == DType::kString) {}
  // Sparse input i, with this number of rows. Its indices are constants.
  Column(PlanContext& context, int i, int sparse, int64_t rows)
      : values_(context.Input(sparse + i)),
        strings_(context.InputDType(sparse + i) == DType::kString) {
    const Tensor indices = context.Constant(i);
    Check(indices.valid(), "'{}' must be bound before it is planned", context.node().name());
    const std::vector<int64_t> counts =
        ValuesOfRows(context.node(), indices.data<int64_t>(), indices.shape().dim(0),
                     indices.shape().dim(1), rows);
    begins_.push_back(0);
    for (const int64_t count : counts) begins_.push_back(begins_.back() + count);
  }

  // Values per row of a dense input.
  [[nodiscard]] int64_t width() const { return width_; }
  [[nodiscard]] int64_t CountAt(int64_t row) const {
    const auto at = static_cast<size_t>(row);
    return begins_.empty() ? width_ : begins_[at + 1] - begins_[at];
  }
  void AddHashes(const Task& task, int64_t row, std::vector<uint64_t>& hashes) const {
    const int64_t begin = begins_.empty() ? row * width_ : begins_[static_cast<size_t>(row)];
    for (int64_t k = begin; k < begin + CountAt(row); ++k) {
      hashes.push_back(strings_ ? Fingerprint64(task.At<std::string_view>(values_)[k])
                                : static_cast<uint64_t>(task.At<int64_t>(values_)[k]));
    }
  }

 private:
  Buffer values_;
  int64_t width_ = 0;
  bool strings_;
  // For a sparse input: the first value per row, then the number of values.
  std::vector<int64_t> begins_;
};

class Crosser {
 public:
  explicit Crosser(PlanContext& context) {
    const Node& node = context.node();
    if (!context.Attr<bool>("hashed_output")) Refuse(node, "supports only hashed crosses");
    if (context.OutputDType(1) != DType::kInt64) {
      Refuse(node, "gives hashes as int64, so out_type cannot be another type");
    }
    if (context.inputs() == 0) Refuse(node, "has no inputs to cross");
    const auto sparse = static_cast<int>(context.Attr<int64_t>("N"));
    is_dense_ = sparse == 0;
    batch_ = is_dense_ ? context.InputShape(0).dim(0)
                       : SparseBatch(node, IntsOf(context.Constant(2 * sparse)));
    for (int i = 0; i < sparse; ++i) columns_.emplace_back(context, i, sparse, batch_);
    for (int i = 3 * sparse; i < context.inputs(); ++i) columns_.emplace_back(context, i);
    if (is_dense_) {
      CountCrosses(node);
    } else {
      CountMost();
    }
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
    std::vector<uint64_t> hashes;  // hashes of the row's values, column by column
    int64_t* out = task.At<int64_t>(values_);
    for (int64_t row = 0; row < batch_; ++row) {
      hashes.clear();
      for (const Column& column : columns_) column.AddHashes(task, row, hashes);
      if (CrossesAt(row) > 0) Cross(row, key_, 0, hashes.data(), out);
    }
  }

 private:
  // The number of crosses must fit int32, as dimensions do.
  void CountCrosses(const Node& node) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const bool empty = batch_ == 0 || std::any_of(columns_.begin(), columns_.end(),
                                                  [](const Column& c) { return c.width() == 0; });
    std::vector<std::string> widths;
    for (const Column& column : columns_) widths.push_back(std::to_string(column.width()));
    for (const Column& column : columns_) {
      if (!empty && column.width() > kMost / batch_ / each_) {
        Refuse(node,
               fmt::format("{} rows with lists of {} values give more than {} crosses", batch_,
                           Join(widths, " x "), kMost),
               "use fewer keys, shorter lists or a smaller batch");
      }
      each_ *= column.width();
    }
  }

  [[nodiscard]] int64_t CrossesAt(int64_t row) const {
    int64_t crosses = 1;
    for (const Column& column : columns_) crosses *= column.CountAt(row);
    return crosses;
  }

  // Finds the most crosses in any row, which is the width of the sparse result.
  void CountMost() {
    each_ = 0;
    for (int64_t row = 0; row < batch_; ++row) each_ = std::max(each_, CrossesAt(row));
  }

  void WriteIndices(int64_t* indices) const {
    for (int64_t row = 0; row < batch_; ++row) {
      const int64_t crosses = is_dense_ ? each_ : CrossesAt(row);
      for (int64_t k = 0; k < crosses; ++k) {
        *indices++ = row;
        *indices++ = k;
      }
    }
  }

  // Writes all crosses of a row that combine `hash` with the columns from `at` on.
  void Cross(int64_t row, uint64_t hash, size_t at, const uint64_t* hashes, int64_t*& out) const {
    if (at == columns_.size()) {
      *out++ = static_cast<int64_t>(hash % modulus_);
      return;
    }
    const int64_t width = columns_[at].CountAt(row);
    for (int64_t k = 0; k < width; ++k) {
      Cross(row, FingerprintCat64(hash, hashes[k]), at + 1, hashes + width, out);
    }
  }

  std::vector<Column> columns_;
  int64_t batch_ = 0;
  bool is_dense_ = true;
  int64_t each_ = 1;  // crosses per row; the maximum if there are sparse inputs
  uint64_t modulus_ = 1;
  uint64_t key_ = 0;
  Buffer indices_;  // id -1 if no op reads them
  Buffer values_;
  Buffer shape_;
};

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
