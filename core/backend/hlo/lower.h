#pragma once
// Turns a graph into a StableHLO module: each node by its op's LowerFn.

#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/hlo/builder.h"
#include "core/graph/graph.h"

namespace tpuest {

// An op's LowerFn sees its operands through this as values of the module, and leaves its results
// here. Shapes are those of one replica.
class LowerContext {
 public:
  virtual ~LowerContext() = default;
  [[nodiscard]] virtual const Node& node() const = 0;
  [[nodiscard]] virtual HloBuilder& hlo() = 0;
  [[nodiscard]] virtual int replicas() const = 0;

  template <class T>
  [[nodiscard]] const T& Attr(std::string_view name) const {
    return node().Attr<T>(name);
  }
  [[nodiscard]] int inputs() const { return static_cast<int>(node().inputs().size()); }
  [[nodiscard]] virtual HloValue Input(int i) = 0;
  [[nodiscard]] const Shape& OutputShape(int i) const { return node().output_shape(i); }
  [[nodiscard]] DType OutputDType(int i) const { return node().output_dtype(i); }
  // The value of input i where it is known beforehand (axes, sizes), or an invalid Tensor.
  [[nodiscard]] virtual Tensor Constant(int i) const = 0;
  virtual void Output(int i, HloValue value) = 0;

  // The variable behind resource input i: its value as the nodes before this one left it, or as the
  // step found it.
  [[nodiscard]] virtual HloValue Variable(int i) = 0;
  [[nodiscard]] virtual HloValue VariableAtStart(int i) = 0;
  virtual void Assign(int i, HloValue value) = 0;
  // Whether the replicas share the rows of this variable: its value here, [rows of a part, ...],
  // is this replica's part of it (partition.h).
  [[nodiscard]] virtual bool HasPart(int i) const = 0;

  // True if the results are rows of the batch, so that replica r has rows r * rows and following of
  // the run's.
  [[nodiscard]] virtual bool OutputIsCut() const = 0;

  // Two inputs of random numbers: the run's seed, and global_step at the start of the step (uint64
  // []).
  [[nodiscard]] virtual uint64_t seed() const = 0;
  [[nodiscard]] virtual bool seeds_by_name() const = 0;  // CompileOptions::seeds_by_name
  [[nodiscard]] virtual HloValue Step() = 0;

  // Error kUsage "MatMul 'logits': <message>" with the node's place.
  [[noreturn]] void Fail(const std::string& message) const;
};

inline constexpr int kStopGuard = 1;
inline constexpr int kStopVariable = 2;

struct LoweredModule {
  std::string text;
  std::vector<size_t> feeds;           // indices of spec.feeds that are read: the arguments
  std::vector<Partition> partitions;   // of each of `feeds`, as the argument is shaped
  int64_t stack = 1;                   // most steps of one run
  std::vector<std::string> variables;  // by name, in the order of the arguments
  std::vector<bool> assigned;          // of each variable, whether its value changes
  // How the cores of a replica, or all replicas, share each variable: tables that are looked up by
  // row, and their slots, are cut by row where they are large.
  std::vector<Partition> variable_partitions;
  std::vector<Shape> fetches;  // of one step, as spec.fetches
};

// The module of one step. Arguments: the feeds that it reads, the variables. Results: the fetches,
// the variables. Error kUsage, with the node's place, for an op without a lowering.
[[nodiscard]] LoweredModule LowerToHlo(const ProgramSpec& spec, const CompileOptions& options);

// The module of up to `stack` steps, in a while loop: options.steps_per_call, as far as their feeds
// fit into options.device.staging_bytes. Arguments: each feed that is read as [stack, ...], the
// variables, and how many steps to make (int32 [], at most `stack`). Results: each fetch as
// [stack, ...], of which the steps that were made are filled; the variables; how many were made
// (int32 []); and why the last one's updates were not applied (int32 []: 0 if they were): on some
// replica the guard (kStopGuard), or what the step makes of variable i (kStopVariable + i), is not
// finite. The loop ends there.
[[nodiscard]] LoweredModule LowerLoopToHlo(const ProgramSpec& spec, const CompileOptions& options);

}  // namespace tpuest
