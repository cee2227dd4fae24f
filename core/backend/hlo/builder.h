#pragma once
// Writes a StableHLO module as MLIR text, operation by operation, in the generic form that every
// PJRT plugin parses. Operations: github.com/openxla/stablehlo, docs/spec.md.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// A value of the module: SSA name and static type.
struct HloValue {
  std::string name;  // "%12"
  DType dtype = DType::kInvalid;
  Shape shape;
  [[nodiscard]] bool valid() const { return dtype != DType::kInvalid; }
  [[nodiscard]] int64_t dim(int axis) const { return shape.dim(axis); }
  [[nodiscard]] int rank() const { return shape.rank(); }
};

// "tensor<2x3xf32>". Error kUsage for a dtype that StableHLO has not (strings, resources).
[[nodiscard]] std::string HloTypeOf(DType dtype, const Shape& shape);
[[nodiscard]] inline std::string HloTypeOf(const HloValue& value) {
  return HloTypeOf(value.dtype, value.shape);
}
// "array<i64: 1, 2>", as attributes hold lists.
[[nodiscard]] std::string HloArray(const std::vector<int64_t>& values);

struct DotAxes {
  std::vector<int64_t> batch_x, batch_y, contract_x, contract_y;
};

// The axes that a gather reads and a scatter writes, as in the specification. The last axis of the
// indices holds the start: element k is the position on axis starts[k] of x.
struct IndexAxes {
  std::vector<int64_t> window;   // axes of the result (of the updates) that walk through a slice
  std::vector<int64_t> dropped;  // axes of x that a slice has one position of
  std::vector<int64_t> starts;
};

// Computes values from values, for a region.
using HloFn = std::function<std::vector<HloValue>(const std::vector<HloValue>&)>;

class HloBuilder {
 public:
  // A module for so many replicas, each on so many cores: the text is that of one replica whose
  // tensors are whole, and XLA's partitioner shares it out by how its arguments are cut.
  explicit HloBuilder(MatmulPrecision precision = MatmulPrecision::kDefault, int replicas = 1,
                      int partitions = 1)
      : precision_(precision), replicas_(replicas), partitions_(partitions) {}

  // ---- values from nothing
  HloValue Constant(const Tensor& value);
  // All elements are `value`; of whole numbers it is the nearest that the dtype holds: an infinity
  // is its least or largest.
  HloValue Full(DType dtype, const Shape& shape, double value);
  HloValue FullLike(const HloValue& x, double value) { return Full(x.dtype, x.shape, value); }
  HloValue Iota(DType dtype, const Shape& shape, int64_t axis);

  // ---- element by element: `op` without "stablehlo."
  HloValue Unary(std::string_view op, const HloValue& x);
  // x and y of one dtype, broadcast as NumPy does.
  HloValue Binary(std::string_view op, const HloValue& x, const HloValue& y);
  HloValue Binary(std::string_view op, const HloValue& x, double y) {
    return Binary(op, x, FullLike(x, y));
  }
  // EQ, NE, LT, LE, GT, GE -> bool.
  HloValue Compare(std::string_view direction, const HloValue& x, const HloValue& y);
  HloValue Select(const HloValue& condition, const HloValue& x, const HloValue& y);
  // Converts as ops::Cast does: a number is true where it is not 0; floats are cut towards 0.
  HloValue Convert(const HloValue& x, DType dtype);

  // ---- shapes
  HloValue Reshape(const HloValue& x, const Shape& shape);
  // NumPy's broadcast to `shape`.
  HloValue Broadcast(const HloValue& x, const Shape& shape);
  // x's axis i becomes axis dims[i] of `shape`.
  HloValue BroadcastInDim(const HloValue& x, const Shape& shape, const std::vector<int64_t>& dims);
  HloValue Transpose(const HloValue& x, const std::vector<int64_t>& perm);
  HloValue Slice(const HloValue& x, const std::vector<int64_t>& begin,
                 const std::vector<int64_t>& end, const std::vector<int64_t>& strides);
  // `value` is converted to x's dtype; `interior` elements of it go between neighbours.
  HloValue Pad(const HloValue& x, double value, const std::vector<int64_t>& low,
               const std::vector<int64_t>& high, const std::vector<int64_t>& interior);
  HloValue Reverse(const HloValue& x, const std::vector<int64_t>& axes);
  HloValue Concatenate(const std::vector<HloValue>& values, int64_t axis);

  // ---- over axes
  // `op`: add, multiply, maximum, minimum, and, or. The axes are dropped.
  HloValue Reduce(std::string_view op, const HloValue& x, const std::vector<int64_t>& axes,
                  double init);
  HloValue Dot(const HloValue& x, const HloValue& y, const DotAxes& axes);
  // The precision of a product's operands, as an attribute: "precision_config = [...]".
  [[nodiscard]] std::string PrecisionText() const;
  // Slices of x of `sizes` where `indices` say; a start that does not fit is moved to where it
  // does.
  HloValue Gather(const HloValue& x, const HloValue& indices, const IndexAxes& axes,
                  const std::vector<int64_t>& sizes, const Shape& shape);
  // x with `updates` joined to it by `op` where `indices` say; those outside of x are left out.
  // `op` "set" puts them in the place of what is there.
  HloValue Scatter(std::string_view op, const HloValue& x, const HloValue& indices,
                   const HloValue& updates, const IndexAxes& axes);
  // x [n, ...] at position `index` (int32 []), and x with `value` there.
  HloValue Element(const HloValue& x, const HloValue& index);
  HloValue WithElement(const HloValue& x, const HloValue& index, const HloValue& value);
  // Rows of x [rows, ...] by number, indices [...]: [indices..., ...].
  HloValue GatherRows(const HloValue& x, const HloValue& indices);
  // x with updates [indices..., ...] joined to its rows by `op`. A row that is not there (-1) is
  // left out.
  HloValue ScatterRows(std::string_view op, const HloValue& x, const HloValue& indices,
                       const HloValue& updates);
  // The sum over all replicas of the run.
  HloValue AllReduceSum(const HloValue& x, int64_t replicas);
  // Every replica's x [n, ...] in their order: [replicas * n, ...].
  HloValue AllGather(const HloValue& x, int64_t replicas);
  // The sum of every replica's x [replicas * n, ...], of which replica r has rows r * n and
  // following: [n, ...].
  HloValue ReduceScatterSum(const HloValue& x, int64_t replicas);

  // ---- anything else
  // attrs: "{dimension = 1 : i64}" or ""; regions: "({ ^bb0(...): ... })" or "".
  HloValue Op(std::string_view op, const std::vector<HloValue>& operands, std::string_view attrs,
              std::string_view regions, DType dtype, const Shape& shape);
  // An operation with several results.
  std::vector<HloValue> OpMany(std::string_view op, const std::vector<HloValue>& operands,
                               std::string_view attrs, std::string_view regions,
                               const std::vector<HloValue>& result_types);
  // "({ ^bb0(%a: T, %b: T): %r = op(%a, %b) ... })" on scalars of a dtype.
  [[nodiscard]] std::string BinaryRegion(std::string_view op, DType dtype);
  // A region with a block of arguments of these types: "{ ^bb0(...): ... }". fn reads nothing but
  // its arguments and what it makes.
  [[nodiscard]] std::string Region(const std::vector<HloValue>& types, const HloFn& fn);
  // body(state) while condition(state) [] is true.
  std::vector<HloValue> While(const std::vector<HloValue>& state, const HloFn& condition,
                              const HloFn& body);
  // Sorts all of x by x[0] along an axis: ascending (LT) or descending (GT); equals keep their
  // order.
  std::vector<HloValue> Sort(const std::vector<HloValue>& x, int64_t axis,
                             std::string_view direction);

  // ---- the module

  // Operations and arguments from here on are of this node ("": of none), and of this place in the
  // job: a compiler that complains about them names both. A region ends what was set in it.
  void SetLocation(std::string_view node, const Place& place);
  // `partition`: how the cores of a replica share it.
  HloValue Argument(DType dtype, const Shape& shape, const Partition& partition = {});
  // The whole text; the function is @main. `aliases`: result i may use the memory of argument
  // aliases[i] (-1: none), and is shared by the cores as that is; they have all of other results.
  [[nodiscard]] std::string Finish(const std::vector<HloValue>& results,
                                   const std::vector<int64_t>& aliases = {}) const;

 private:
  [[nodiscard]] std::string Fresh();
  // A region as BinaryRegion's, whose result is its second argument.
  [[nodiscard]] std::string SetRegion(DType dtype);

  // " {mhlo.sharding = ...}" of a module with partitions, joined to other attributes; else those.
  [[nodiscard]] std::string Attributes(std::string attributes, const Partition& partition) const;

  const MatmulPrecision precision_;
  const int replicas_;
  const int partitions_;
  std::string body_;
  std::vector<HloValue> arguments_;
  std::vector<std::string> argument_locations_;
  std::vector<Partition> argument_partitions_;
  std::string location_;  // " loc(#loc3)" or ""
  // "\"dense/MatMul\"(\"job.yaml\":12:5)" -> the number of its alias, which the module's end
  // defines.
  std::map<std::string, size_t> locations_;
  int64_t next_ = 0;
};

}  // namespace tpuest
