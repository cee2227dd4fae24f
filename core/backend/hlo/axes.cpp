// Operations over axes: reductions, matrix products, gathers and scatters of rows, sums over
// replicas.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/backend/hlo/builder.h"

namespace tpuest {

std::string HloBuilder::PrecisionText() const {
  const std::string_view name = precision_ == MatmulPrecision::kHighest ? "HIGHEST"
                                : precision_ == MatmulPrecision::kHigh  ? "HIGH"
                                                                        : "DEFAULT";
  return fmt::format("precision_config = [#stablehlo<precision {}>, #stablehlo<precision {}>]",
                     name, name);
}

HloValue HloBuilder::Reduce(std::string_view op, const HloValue& x,
                            const std::vector<int64_t>& axes, double init) {
  if (axes.empty()) return x;
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) dims.push_back(x.dim(axis));
  }
  return Op("reduce", {x, Full(x.dtype, Shape(), init)},
            fmt::format("{{dimensions = {}}}", HloArray(axes)), BinaryRegion(op, x.dtype), x.dtype,
            Shape(dims));
}

// The result's axes are those of dot_general: the batch axes, then the remaining axes of x, then
// those of y.
HloValue HloBuilder::Dot(const HloValue& x, const HloValue& y, const DotAxes& axes) {
  const auto left_over = [](const HloValue& v, const std::vector<int64_t>& batch,
                            const std::vector<int64_t>& contract, std::vector<int64_t>& dims) {
    for (int axis = 0; axis < v.rank(); ++axis) {
      const bool used = std::find(batch.begin(), batch.end(), axis) != batch.end() ||
                        std::find(contract.begin(), contract.end(), axis) != contract.end();
      if (!used) dims.push_back(v.dim(axis));
    }
  };
  std::vector<int64_t> dims;
  for (const int64_t axis : axes.batch_x) dims.push_back(x.dim(static_cast<int>(axis)));
  left_over(x, axes.batch_x, axes.contract_x, dims);
  left_over(y, axes.batch_y, axes.contract_y, dims);
  return Op("dot_general", {x, y},
            fmt::format("{{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], "
                        "rhs_batching_dimensions = [{}], lhs_contracting_dimensions = [{}], "
                        "rhs_contracting_dimensions = [{}]>, {}}}",
                        fmt::join(axes.batch_x, ", "), fmt::join(axes.batch_y, ", "),
                        fmt::join(axes.contract_x, ", "), fmt::join(axes.contract_y, ", "),
                        PrecisionText()),
            "", x.dtype, Shape(dims));
}

HloValue HloBuilder::Gather(const HloValue& x, const HloValue& indices, const IndexAxes& axes,
                            const std::vector<int64_t>& sizes, const Shape& shape) {
  return Op("gather", {x, indices},
            fmt::format("{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], "
                        "collapsed_slice_dims = [{}], start_index_map = [{}], index_vector_dim = "
                        "{}>, slice_sizes = {}, indices_are_sorted = false}}",
                        fmt::join(axes.window, ", "), fmt::join(axes.dropped, ", "),
                        fmt::join(axes.starts, ", "), indices.rank() - 1, HloArray(sizes)),
            "", x.dtype, shape);
}

HloValue HloBuilder::Scatter(std::string_view op, const HloValue& x, const HloValue& indices,
                             const HloValue& updates, const IndexAxes& axes) {
  return Op(
      "scatter", {x, indices, updates},
      fmt::format("{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], "
                  "inserted_window_dims = [{}], scatter_dims_to_operand_dims = [{}], "
                  "index_vector_dim = {}>, indices_are_sorted = false, unique_indices = false}}",
                  fmt::join(axes.window, ", "), fmt::join(axes.dropped, ", "),
                  fmt::join(axes.starts, ", "), indices.rank() - 1),
      op == "set" ? SetRegion(x.dtype) : BinaryRegion(op, x.dtype), x.dtype, x.shape);
}

namespace {

// The axes of a gather or scatter of whole rows: an index selects a position on axis 0 of x, and
// the other axes of x follow those of the indices.
IndexAxes RowAxes(const HloValue& x, const HloValue& indices) {
  IndexAxes axes{.window = {}, .dropped = {0}, .starts = {0}};
  for (int axis = 1; axis < x.rank(); ++axis) axes.window.push_back(indices.rank() + axis - 1);
  return axes;
}

Shape WithOneMore(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  dims.push_back(1);
  return Shape(dims);
}

}  // namespace

// dynamic_slice takes one start per axis; all but the first are 0.
HloValue HloBuilder::Element(const HloValue& x, const HloValue& index) {
  std::vector<HloValue> operands = {x, index};
  for (int axis = 1; axis < x.rank(); ++axis) operands.push_back(FullLike(index, 0));
  std::vector<int64_t> dims = x.shape.dims();
  dims[0] = 1;
  const HloValue slice =
      Op("dynamic_slice", operands, fmt::format("{{slice_sizes = {}}}", HloArray(dims)), "",
         x.dtype, Shape(dims));
  dims.erase(dims.begin());
  return Reshape(slice, Shape(dims));
}

HloValue HloBuilder::WithElement(const HloValue& x, const HloValue& index, const HloValue& value) {
  std::vector<int64_t> dims = x.shape.dims();
  dims[0] = 1;
  std::vector<HloValue> operands = {x, Reshape(value, Shape(dims)), index};
  for (int axis = 1; axis < x.rank(); ++axis) operands.push_back(FullLike(index, 0));
  return Op("dynamic_update_slice", operands, "", "", x.dtype, x.shape);
}

HloValue HloBuilder::GatherRows(const HloValue& x, const HloValue& indices) {
  std::vector<int64_t> sizes = x.shape.dims();
  sizes[0] = 1;
  std::vector<int64_t> dims = indices.shape.dims();
  dims.insert(dims.end(), sizes.begin() + 1, sizes.end());
  return Gather(x, Reshape(indices, WithOneMore(indices.shape)), RowAxes(x, indices), sizes,
                Shape(dims));
}

HloValue HloBuilder::ScatterRows(std::string_view op, const HloValue& x, const HloValue& indices,
                                 const HloValue& updates) {
  return Scatter(op, x, Reshape(indices, WithOneMore(indices.shape)), updates, RowAxes(x, indices));
}

namespace {

// All replicas form one group. Without a channel id the sum runs over replicas, each core with the
// same core of all replicas; with one it would also include the cores of a replica.
std::string AllReplicas(int64_t replicas) {
  std::vector<int64_t> group;
  for (int64_t replica = 0; replica < replicas; ++replica) group.push_back(replica);
  return fmt::format("replica_groups = dense<[[{}]]> : tensor<1x{}xi64>", fmt::join(group, ", "),
                     replicas);
}

Shape WithRows(const Shape& shape, int64_t rows) {
  Shape other = shape;
  other.set_dim(0, rows);
  return other;
}

}  // namespace

HloValue HloBuilder::AllReduceSum(const HloValue& x, int64_t replicas) {
  return Op("all_reduce", {x}, fmt::format("{{{}}}", AllReplicas(replicas)),
            BinaryRegion("add", x.dtype), x.dtype, x.shape);
}

HloValue HloBuilder::AllGather(const HloValue& x, int64_t replicas) {
  return Op("all_gather", {x},
            fmt::format("{{all_gather_dim = 0 : i64, {}}}", AllReplicas(replicas)), "", x.dtype,
            WithRows(x.shape, x.dim(0) * replicas));
}

HloValue HloBuilder::ReduceScatterSum(const HloValue& x, int64_t replicas) {
  return Op("reduce_scatter", {x},
            fmt::format("{{scatter_dimension = 0 : i64, {}}}", AllReplicas(replicas)),
            BinaryRegion("add", x.dtype), x.dtype, WithRows(x.shape, x.dim(0) / replicas));
}

}  // namespace tpuest
