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

// "tensor<2x3xf32>". Throws kUsage for a dtype that StableHLO lacks (strings, resources).
[[nodiscard]] std::string HloTypeOf(DType dtype, const Shape& shape);
[[nodiscard]] inline std::string HloTypeOf(const HloValue& value) {
  return HloTypeOf(value.dtype, value.shape);
}
// "array<i64: 1, 2>", the form of a list in an attribute.
[[nodiscard]] std::string HloArray(const std::vector<int64_t>& values);

struct DotAxes {
  std::vector<int64_t> batch_x, batch_y, contract_x, contract_y;
};

// The axes that a gather reads and a scatter writes, as in the specification. The last axis of the
// indices holds the start: element k is the position on axis starts[k] of x.
struct IndexAxes {
  std::vector<int64_t> window;   // axes of the result (or of the updates) that index within a slice
  std::vector<int64_t> dropped;  // axes of x along which a slice has size 1 and that are dropped
  std::vector<int64_t> starts;
};

// Computes results from arguments inside of a region.
using HloFn = std::function<std::vector<HloValue>(const std::vector<HloValue>&)>;

class HloBuilder {
 public:
  // A module for `replicas` replicas with `partitions` cores each. The text describes one replica
  // with whole tensors; XLA's partitioner distributes it over the cores by the partitions of its
  // arguments.
  explicit HloBuilder(MatmulPrecision precision = MatmulPrecision::kDefault, int replicas = 1,
                      int partitions = 1)
      : precision_(precision), replicas_(replicas), partitions_(partitions) {}

  // ---- constants
  HloValue Constant(const Tensor& value);
  // A tensor whose elements are all `value`. For integers it is the nearest value of the dtype: an
  // infinity becomes the dtype's minimum or maximum.
  HloValue Full(DType dtype, const Shape& shape, double value);
  HloValue FullLike(const HloValue& x, double value) { return Full(x.dtype, x.shape, value); }
  HloValue Iota(DType dtype, const Shape& shape, int64_t axis);

  // ---- element by element: `op` without "stablehlo."
  HloValue Unary(std::string_view op, const HloValue& x);
  // x and y have one dtype and are broadcast by NumPy's rules.
  HloValue Binary(std::string_view op, const HloValue& x, const HloValue& y);
  HloValue Binary(std::string_view op, const HloValue& x, double y) {
    return Binary(op, x, FullLike(x, y));
  }
  // EQ, NE, LT, LE, GT, GE -> bool.
  HloValue Compare(std::string_view direction, const HloValue& x, const HloValue& y);
  HloValue Select(const HloValue& condition, const HloValue& x, const HloValue& y);
  // Converts like ops::Cast: a number other than 0 is true; floats are truncated towards 0.
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
  // Pads with `value`, converted to x's dtype; inserts `interior` such elements between neighbours.
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
  // Slices of x of size `sizes` at the starts in `indices`. A start at which the slice would exceed
  // x is moved inwards.
  HloValue Gather(const HloValue& x, const HloValue& indices, const IndexAxes& axes,
                  const std::vector<int64_t>& sizes, const Shape& shape);
  // Combines `updates` with x by `op` at `indices`; updates outside of x are ignored. `op` "set"
  // overwrites.
  HloValue Scatter(std::string_view op, const HloValue& x, const HloValue& indices,
                   const HloValue& updates, const IndexAxes& axes);
  // Element reads x [n, ...] at position `index` (int32 []); WithElement returns x with `value` at
  // that position.
  HloValue Element(const HloValue& x, const HloValue& index);
  HloValue WithElement(const HloValue& x, const HloValue& index, const HloValue& value);
  // Rows of x [rows, ...] by their numbers, indices [...]. Result: [indices..., ...].
  HloValue GatherRows(const HloValue& x, const HloValue& indices);
  // Combines updates [indices..., ...] with the rows of x by `op`. Row numbers outside of x (-1)
  // are ignored.
  HloValue ScatterRows(std::string_view op, const HloValue& x, const HloValue& indices,
                       const HloValue& updates);
  // The sum over all replicas.
  HloValue AllReduceSum(const HloValue& x, int64_t replicas);
  // Concatenates x [n, ...] of all replicas in order: [replicas * n, ...].
  HloValue AllGather(const HloValue& x, int64_t replicas);
  // Sums x [replicas * n, ...] over all replicas; replica r gets rows r * n to r * n + n - 1: [n,
  // ...].
  HloValue ReduceScatterSum(const HloValue& x, int64_t replicas);

  // ---- any operation attrs: "{dimension = 1 : i64}" or ""; regions: "({ ^bb0(...): ... })" or "".
  HloValue Op(std::string_view op, const std::vector<HloValue>& operands, std::string_view attrs,
              std::string_view regions, DType dtype, const Shape& shape);
  // An operation with several results.
  std::vector<HloValue> OpMany(std::string_view op, const std::vector<HloValue>& operands,
                               std::string_view attrs, std::string_view regions,
                               const std::vector<HloValue>& result_types);
  // "({ ^bb0(%a: T, %b: T): %r = op(%a, %b) ... })" on scalars of a dtype.
  [[nodiscard]] std::string BinaryRegion(std::string_view op, DType dtype);
  // A region with one block whose arguments have these types: "{ ^bb0(...): ... }". `fn` may read
  // only its arguments and the values that it makes.
  [[nodiscard]] std::string Region(const std::vector<HloValue>& types, const HloFn& fn);
  // Repeats state = body(state) while condition(state), a bool [], is true.
  std::vector<HloValue> While(const std::vector<HloValue>& state, const HloFn& condition,
                              const HloFn& body);
  // Sorts all of x along an axis by x[0], ascending (LT) or descending (GT). Stable.
  std::vector<HloValue> Sort(const std::vector<HloValue>& x, int64_t axis,
                             std::string_view direction);

  // ---- the module

  // Attributes all following operations and arguments to this node ("": none) and this place in the
  // job; a compiler's errors about them name both. A location set inside of a region ends with it.
  void SetLocation(std::string_view node, const Place& place);
  // `partition`: the partition over the cores of a replica.
  HloValue Argument(DType dtype, const Shape& shape, const Partition& partition = {});
  // Returns the module's text; the function is @main. `aliases`: result i may use the memory of
  // argument aliases[i] (-1: none) and has its partition; every core has the whole of all other
  // results.
  [[nodiscard]] std::string Finish(const std::vector<HloValue>& results,
                                   const std::vector<int64_t>& aliases = {}) const;

 private:
  [[nodiscard]] std::string Fresh();
  // A region like BinaryRegion's that returns its second argument.
  [[nodiscard]] std::string SetRegion(DType dtype);

  // The attributes, with " {mhlo.sharding = ...}" added if the module has partitions.
  [[nodiscard]] std::string Attributes(std::string attributes, const Partition& partition) const;

  const MatmulPrecision precision_;
  const int replicas_;
  const int partitions_;
  std::string body_;
  std::vector<HloValue> arguments_;
  std::vector<std::string> argument_locations_;
  std::vector<Partition> argument_partitions_;
  std::string location_;  // " loc(#loc3)" or ""
  // Maps "\"dense/MatMul\"(\"job.yaml\":12:5)" to the number of its alias, which is defined at the
  // module's end.
  std::map<std::string, size_t> locations_;
  int64_t next_ = 0;
};

}  // namespace tpuest
