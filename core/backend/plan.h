#pragma once
// A PlanFn sees its op's node through a PlanContext: static shapes, where its buffers will be, and
// where to leave its kernel. Plans are made once, before the first step; kernels run every step and
// do not allocate.
//
// The batch of a replica is cut into blocks of rows. A kernel of a row-wise op is planned for a
// block: dimension 0 of its cut inputs and outputs is the block's number of rows (a program has at
// most two block sizes, and a PlanFn is called for each).

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/graph/graph.h"

namespace tpuest {

struct RowColumn;
struct RowWatch;

// A tensor's place in memory, known when the program runs. Valid for the PlanContext's node only.
struct Buffer {
  int id = -1;
  // Bytes from one row of the batch to the next if this use is cut into rows; otherwise 0.
  size_t row_bytes = 0;
};

// One call of a kernel: its replica and rows, and the addresses of its buffers.
class Task {
 public:
  template <class T = void>
  [[nodiscard]] T* At(Buffer buffer) const {
    const Location& location = locations[buffer.id];
    const size_t row_offset = location.block_local ? 0 : buffer.row_bytes * row_begin;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the base may be null, the offset then an address
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(bases[location.base]) +
                                location.offset + row_offset);
  }

  // Filled by the executor.
  struct Location {
    int base = 0;              // index into bases
    bool block_local = false;  // holds only the rows of the block at hand
    size_t offset = 0;
  };
  const Location* locations = nullptr;
  char* const* bases = nullptr;
  int thread = 0;  // 0 .. threads-1: for objects that may not be shared between threads
  int replica = 0;
  int replicas = 1;
  size_t row_begin = 0;   // first row at hand, within the replica's batch
  size_t rows = 0;        // rows at hand: of a block, or of a run of its rows
  size_t batch_rows = 0;  // rows of the replica's batch; the global batch has replicas times it
  uint64_t step = 0;      // global_step at the start of the step
  uint64_t seed = 0;      // tf_random_seed
  bool seeds_by_name = false;  // CompileOptions::seeds_by_name

  // Keeps the bytes of a string that a host op makes as long as the results of the run.
  [[nodiscard]] std::string_view Keep(std::string text) const {
    return strings->emplace_back(std::move(text));
  }
  std::deque<std::string>* strings = nullptr;
};

using Kernel = std::function<void(const Task&)>;
// Computes elements begin .. end - 1 of its results.
using RangeKernel = std::function<void(const Task&, int64_t begin, int64_t end)>;

// A row rule sees its node through this. It is asked only if some input is cut into rows.
class RowContext {
 public:
  RowContext(const Node& node, std::vector<bool> cut, int64_t batch_rows)
      : node_(node), cut_(std::move(cut)), batch_rows_(batch_rows) {}
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] bool IsCut(int input) const { return cut_[static_cast<size_t>(input)]; }
  // Shapes of the whole batch of a replica.
  [[nodiscard]] const Shape& Input(int i) const { return node_.input(i).shape(); }
  [[nodiscard]] const Shape& Output(int i) const { return node_.output_shape(i); }
  [[nodiscard]] int64_t batch_rows() const { return batch_rows_; }
  // Input i is a whole tensor of as many rows as the batch, and this op reads the block's rows.
  // (The constant shape of something that is cut counts as cut while its first number is
  // batch_rows().)
  void Cut(int input) { cut_[static_cast<size_t>(input)] = true; }
  [[nodiscard]] const std::vector<bool>& cut() const { return cut_; }

 private:
  const Node& node_;
  std::vector<bool> cut_;
  int64_t batch_rows_;
};

// Row rules that many ops share.

// The row rule of elementwise ops with NumPy broadcasting: kEach if every input is cut with the
// output's rank, has as many rows (and is then cut as well), or broadcasts along axis 0; otherwise
// kWhole.
[[nodiscard]] Rows BroadcastRows(RowContext& context);
// The row rule of ops on the rows of input 0: kEach if it is cut, with all other inputs whole;
// otherwise kWhole.
[[nodiscard]] Rows FirstInputRows(RowContext& context);

class PlanContext {
 public:
  virtual ~PlanContext() = default;
  [[nodiscard]] virtual const Node& node() const = 0;
  template <class T>
  [[nodiscard]] const T& Attr(std::string_view name) const {
    return node().Attr<T>(name);
  }
  [[nodiscard]] int inputs() const { return static_cast<int>(node().inputs().size()); }
  // The shapes as this kernel sees them (block rows where cut).
  [[nodiscard]] virtual const Shape& InputShape(int i) const = 0;
  [[nodiscard]] virtual const Shape& OutputShape(int i) const = 0;
  // The shapes of the whole batch of a replica.
  [[nodiscard]] const Shape& WholeInputShape(int i) const { return node().input(i).shape(); }
  [[nodiscard]] const Shape& WholeOutputShape(int i) const { return node().output_shape(i); }
  [[nodiscard]] DType InputDType(int i) const { return node().input(i).dtype(); }
  // dtype of the buffer of output i. A part of a sum over rows (Rows::kSum) is float where the
  // node's output is bfloat16: it is rounded after the parts are added.
  [[nodiscard]] virtual DType OutputDType(int i) const = 0;
  // True if the results are cut into rows.
  [[nodiscard]] virtual bool OutputIsCut() const = 0;
  // The value of input i if it does not change from step to step; otherwise an invalid Tensor.
  [[nodiscard]] virtual Tensor Constant(int i) const = 0;
  // False if nothing reads output i: its buffer exists, but it need not be filled.
  [[nodiscard]] virtual bool OutputIsUsed(int i) const = 0;
  [[nodiscard]] virtual int threads() const = 0;

  [[nodiscard]] virtual Buffer Input(int i) = 0;
  [[nodiscard]] virtual Buffer Output(int i) = 0;
  // Memory of its own during the call, aligned to 64 bytes.
  [[nodiscard]] virtual Buffer Scratch(size_t bytes) = 0;
  // The int64 to which the kernel of a row-filling op (OpDef::fills_rows) writes the number of
  // rows.
  [[nodiscard]] virtual Buffer RowCount() { return Scratch(sizeof(int64_t)); }
  // Output i may share the memory of input j if nothing reads that later.
  virtual void AllowInPlace(int output, int input) = 0;
  // Output i is input j under another shape: no kernel is needed for it. The op's record says so
  // (OpDef::alias).
  virtual void Alias(int output, int input) = 0;
  // A value that depends only on input i (a weight in another layout), computed once per step where
  // input i is computed, however many blocks use it. Plans of one program with the same key share
  // it. `make` gets the buffers of the input and the result.
  virtual Buffer Derived(int input, const std::string& key, size_t bytes,
                         const std::function<Kernel(Buffer in, Buffer out)>& make) = 0;
  // The memory of the variable of a resource input, in the program's variable store.
  [[nodiscard]] virtual Buffer VariableInput(int i) = 0;
  // The table of the variable if it is kept by rows, which no buffer can point to; otherwise
  // nullptr.
  [[nodiscard]] virtual const RowColumn* RowsInput(int /*i*/) { return nullptr; }
  // The tracking of its updates; nullptr: none.
  [[nodiscard]] virtual const RowWatch* WatchInput(int /*i*/) { return nullptr; }
  // Sets the kernel. An op that does not call it does nothing at run time (Alias).
  virtual void Run(Kernel kernel) = 0;
  // Sets a kernel whose elements 0 .. n - 1 are independent of each other. If it runs once for all
  // replicas, the threads share it in ranges of any size.
  virtual void RunRanges(int64_t n, RangeKernel kernel) {
    Run([n, kernel = std::move(kernel)](const Task& task) { kernel(task, 0, n); });
  }
};

}  // namespace tpuest
