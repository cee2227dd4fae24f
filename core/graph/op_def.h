#pragma once
// An OpDef holds everything that tpuest knows about one TensorFlow op: a record, never a class.
//
// The signature names inputs, outputs and attributes as TensorFlow's op definition does:
//
//   "input: T, filter: T -> output: T; T: bfloat16|float|double; strides: list(int) >= 4 <= 4;
//    padding: {'SAME', 'VALID'}; dilations: list(int) = [1,1,1,1]"
//
// An argument's type is a dtype ("shape: int32"), a type attribute ("x: T"), as many tensors as an
// int attribute says ("values: N*T"), or one tensor per type of a list attribute
// ("inputs: list(Tin)"). The domain of an attribute is a list of dtypes ("T: float|double"), "type"
// (any dtype except resource), "type|resource", "int", "float", "bool", "string", words ("padding:
// {'SAME', 'VALID'}"), "shape", "tensor" or "func"; most of these also as list(...). "= value"
// gives the default. ">= 1" and "<= 9" bound an int, or the length of a list. AddNode refuses other
// values, so kernels may rely on the domain; the shape function checks values that depend on a
// shape, such as an axis.

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

// How a result relates to the rows (axis 0) of the batch when the batch is cut into blocks.
enum class Rows {
  // needs whole tensors: one call per replica, or one for all if no input differs by replica
  kWhole,
  kEach,  // row i of every output depends on row i of the inputs that are cut
  kSum    // every output is a sum over rows: blocks compute partial sums, which are then added
};

using ShapeFn = void (*)(ShapeContext&);
using GradFn = void (*)(GradContext&);    // builds graph, so it serves every backend
using PlanFn = void (*)(PlanContext&);    // prepares a kernel once; the executor runs it every step
using LowerFn = void (*)(LowerContext&);  // emits StableHLO
using RowFn = Rows (*)(RowContext&);      // called only if an input is cut into rows
// Counts the floating-point operations of one run (flops.h).
using FlopsFn = int64_t (*)(const Node& node);
// Replaces the node by simpler nodes before planning (BatchNorm by sums and row-wise maths).
using ExpandFn = bool (*)(Node& node, std::vector<Value>& results);
// Returns the op that runs instead when shapes are bound (bound_op.h), for results whose size
// depends on data. `node` and its readers are in the graph as it was built. Throws Error kUsage if
// the node cannot run.
using BindFn = BoundOp (*)(const Node& node);
// Returns the value of output 0, which follows from the shape of input 0; an invalid Tensor if too
// little of that shape is known.
using OfShapeFn = Tensor (*)(const Node& node);

// Where a node's value is before anything runs.
enum class ValueSource {
  kNone,      // nowhere: it is computed
  kConstant,  // in the attribute "value"
  kFeed,      // in the feeds
  kVariable,  // the handle of the variable "shared_name", of "dtype" and "shape"
  kRead       // in the variable of input 0, as the step starts unless control inputs say otherwise
};

struct OpDef {
  std::string_view name;  // TensorFlow's name; ops of our own backends start with '_'
  std::string_view signature;
  ShapeFn shape = nullptr;
  GradFn grad = nullptr;  // NoGradient states that there is none on purpose
  PlanFn cpu = nullptr;
  LowerFn hlo = nullptr;
  RowFn rows = nullptr;  // nullptr: kWhole
  ExpandFn expand = nullptr;
  BindFn bind = nullptr;
  // nullptr: it moves, compares or draws numbers, which costs no operations
  FlopsFn flops = nullptr;
  OfShapeFn of_shape = nullptr;
  ValueSource source = ValueSource::kNone;
  bool stateful = false;  // never merged, folded or pruned
  bool host = false;      // strings, tables, data-dependent shapes: never on the device
  // Output 0 may share input 0's memory (PlanContext::Alias), so a write to one changes the other.
  bool alias = false;
  // Writes the state of its resource inputs: variables; if `host`, the table of input 0.
  bool writes = false;
  // Output 0 contains the rows of input 0's variable that input 1 numbers.
  bool looks_up_rows = false;
  // Writes only those rows of input 0's variable.
  bool writes_rows = false;
  // Its outputs are padded after the rows that a step has; its kernel reports their number
  // (PlanContext::RowCount).
  bool fills_rows = false;
  // Output 0 is input 0 in another dtype, possibly taken before input 0 was rounded to its own.
  bool converts = false;
  // Output 0 is the sum of input 0 over all replicas, which the program computes, not a kernel.
  bool sums_replicas = false;
  // Outputs 0 and 1 are the row numbers (input 0) and the values (input 1) of all replicas, in the
  // replicas' order; the program gathers them, not a kernel.
  bool gathers_replicas = false;
  // For an op that writes variables: the input values for which it leaves finite numbers, or
  // kNeverSure (update_bounds.h). nullptr: not stated, which the engine treats as kNeverSure.
  const UpdateBounds* bounds = nullptr;

  [[nodiscard]] bool crosses_replicas() const { return sums_replicas || gathers_replicas; }
};

// The OpDef::grad of an op whose inputs have no gradient.
void NoGradient(GradContext& context);

// The ops of one source file.
using OpFamily = std::span<const OpDef>;

}  // namespace tpuest
