#pragma once
// An OpDef holds everything that tpuest knows about one TensorFlow op: a record, never a class.
//
// The signature names inputs, outputs and attributes as TensorFlow's op definition does:
//
//   "input: T, filter: T -> output: T; T: bfloat16|float|double; strides: list(int) >= 4 <= 4;
//    padding: {'SAME', 'VALID'}; dilations: list(int) = [1,1,1,1]"
//
// An argument's type is a dtype ("shape: int32"), a type attribute ("x: T"), as many tensors as an
// int attribute says ("values: N*T"), or one a type of a list attribute ("inputs: list(Tin)").
// Attributes: dtypes ("T: float|double"), "type" (any dtype but resource), "type|resource", "int",
// "float", "bool", "string", words ("padding: {'SAME', 'VALID'}"), "shape", "tensor", "func", most
// also as list(...);
// "= value" gives the default. ">= 1" and "<= 9" bound an int, or the length of a list. A node with
// another value is refused when it is added, so kernels may rely on it; what only a shape tells,
// such as an axis, the shape function checks.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tpuest {

class Node;
class ShapeContext;
class GradContext;
class PlanContext;
class LowerContext;
class RowContext;
class Tensor;
struct BoundOp;
struct UpdateBounds;
struct Value;

// The relation of a result to the rows (axis 0) of the batch, when the batch is cut into blocks.
enum class Rows {
  kWhole,  // needs whole tensors: one call a replica, or one for all if no input differs by replica
  kEach,   // row i of every output depends on row i of the inputs that are cut
  kSum     // every output is a sum over rows: blocks compute parts, which are then added
};

using ShapeFn = void (*)(ShapeContext&);
using GradFn = void (*)(GradContext&);    // builds graph, so it serves every home
using PlanFn = void (*)(PlanContext&);    // prepares a kernel once; the executor runs it every step
using LowerFn = void (*)(LowerContext&);  // emits StableHLO
using RowFn = Rows (*)(RowContext&);      // asked only if some input is cut into rows
// Floating-point operations of one run (flops.h).
using FlopsFn = int64_t (*)(const Node& node);
// Replaces the node by simpler ones before planning (BatchNorm by sums and row-wise maths).
using ExpandFn = bool (*)(Node& node, std::vector<Value>& results);
// Gives the op that runs instead where shapes are bound (bound_op.h), for results whose size
// depends on data; `node` and what reads it stand in the graph as it was built. Error kUsage: it
// cannot run.
using BindFn = BoundOp (*)(const Node& node);
// The value of output 0, which follows from the shape of input 0 alone; an invalid Tensor where too
// little of that is known.
using OfShapeFn = Tensor (*)(const Node& node);

// The place where a node's value is before anything runs.
enum class ValueSource {
  kNone,      // it is computed
  kConstant,  // in the attribute "value"
  kFeed,      // in what is fed
  kVariable,  // the handle of the variable "shared_name", of "dtype" and "shape"
  kRead  // in the variable of input 0, as the step finds it unless control inputs say otherwise
};

struct OpDef {
  std::string_view name;  // TensorFlow's name; ops of our own backends start with '_'
  std::string_view signature;
  ShapeFn shape = nullptr;
  GradFn grad = nullptr;  // NoGradient says so on purpose
  PlanFn cpu = nullptr;
  LowerFn hlo = nullptr;
  RowFn rows = nullptr;  // nullptr: kWhole
  ExpandFn expand = nullptr;
  BindFn bind = nullptr;
  FlopsFn flops = nullptr;  // nullptr: it moves, compares or draws numbers, and computes none
  OfShapeFn of_shape = nullptr;
  ValueSource source = ValueSource::kNone;
  bool stateful = false;  // never merged, folded or pruned
  bool host = false;      // strings, tables, data-dependent shapes: never on the device
  // Output 0 may be input 0's memory (PlanContext::Alias), so what changes the one changes the
  // other.
  bool alias = false;
  // Changes what its resource inputs stand for: variables; the table of input 0, if `host`.
  bool writes = false;
  // Output 0 is the rows of the variable behind input 0 that input 1 numbers.
  bool looks_up_rows = false;
  // Writes those rows alone, of the variable behind input 0.
  bool writes_rows = false;
  // Behind the rows that there are in a step its outputs are filled up: its kernel says how many
  // there are (PlanContext::RowCount).
  bool fills_rows = false;
  // Output 0 is input 0 in another dtype: the same before input 0 was rounded to its own.
  bool converts = false;
  // Output 0 is the sum of input 0 over all replicas: the program adds them up, not a kernel.
  bool sums_replicas = false;
  // Outputs 0 and 1 are the numbers of all replicas' rows, input 0, and their values, input 1, in
  // the replicas' order: the program gathers them.
  bool gathers_replicas = false;
  // Of an op that writes variables: the values for which it leaves finite numbers, or kNeverSure
  // (update_bounds.h). nullptr: not stated, which the engine takes for never sure.
  const UpdateBounds* bounds = nullptr;

  [[nodiscard]] bool crosses_replicas() const { return sums_replicas || gathers_replicas; }
};

// The OpDef::grad of an op none of whose inputs has a gradient.
void NoGradient(GradContext& context);

// One file of ops.
using OpFamily = std::span<const OpDef>;

}  // namespace tpuest
