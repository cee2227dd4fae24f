#pragma once
// Lowers a graph to a StableHLO module: each node by its op's LowerFn.

#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/hlo/builder.h"
#include "core/graph/graph.h"

namespace tpuest {

// Gives an op's LowerFn its operands as values of the module, and takes its results. Shapes are
// those of one replica.
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
  // The value of input i if it is a constant (axes, sizes); otherwise an invalid Tensor.
  [[nodiscard]] virtual Tensor Constant(int i) const = 0;
  virtual void Output(int i, HloValue value) = 0;

  // The value of the variable of resource input i, as the preceding nodes left it.
  [[nodiscard]] virtual HloValue Variable(int i) = 0;
  [[nodiscard]] virtual HloValue VariableAtStart(int i) = 0;
  virtual void Assign(int i, HloValue value) = 0;
  // Whether the rows of this variable are partitioned over the replicas. Its value is then this
  // replica's part, [rows of a part, ...] (partition.h).
  [[nodiscard]] virtual bool HasPart(int i) const = 0;

  // True if the results are rows of the batch: replica r has the rows of the global batch from r *
  // rows on.
  [[nodiscard]] virtual bool OutputIsCut() const = 0;

  // Two inputs of random ops: the run's seed, and global_step at the start of the step (uint64 []).
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
  std::vector<size_t> feeds;           // indices into spec.feeds of the feeds that are arguments
  std::vector<Partition> partitions;   // of the arguments, per entry of `feeds`
  int64_t stack = 1;                   // maximum number of steps per run
  std::vector<std::string> variables;  // by name, in the order of the arguments
  std::vector<bool> assigned;          // per variable: whether its value changes
  // The partition of each variable over the cores of a replica, or over all replicas. Large tables
  // that are looked up by row, and their slots, are partitioned by row.
  std::vector<Partition> variable_partitions;
  std::vector<Shape> fetches;  // of one step, as spec.fetches
};

// The module of one step. Arguments: the feeds that it reads, the variables. Results: the fetches,
// the variables. Throws kUsage, with the node's place, for an op without a lowering.
[[nodiscard]] LoweredModule LowerToHlo(const ProgramSpec& spec, const CompileOptions& options);

// The module of a while loop of up to `stack` steps: options.steps_per_call, as far as the feeds
// fit into options.device.staging_bytes. Arguments: each feed that is read as [stack, ...]; the
// variables; and the number of steps to run (int32 [], at most `stack`). Results: each fetch as
// [stack, ...], filled for the steps that ran; the variables; the number of steps that ran (int32
// []); and the reason why the last step's updates were not applied (int32 []; 0 if they were): on
// some replica the guard (kStopGuard) or the new value of variable i (kStopVariable + i) is not
// finite. The loop ends at such a step.
[[nodiscard]] LoweredModule LowerLoopToHlo(const ProgramSpec& spec, const CompileOptions& options);

}  // namespace tpuest
