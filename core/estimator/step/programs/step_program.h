#pragma once
// A model's graph for one batch size, compiled: what runs before the device, on it and after it.

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/collective.h"
#include "core/graph/bound_op.h"
#include "core/graph/cut.h"

namespace tpuest {

struct StepProgramArgs {
  const Graph& graph;
  std::vector<Value> inputs;  // placeholders; axis 0 is the batch
  // The inputs' shapes; axis 0 is the global batch, a multiple of options.replicas unless
  // `broadcast`.
  std::vector<Shape> shapes = {};
  std::vector<Value> fetches;
  bool broadcast = false;  // every replica gets the whole batch, and the first one's rows count
  std::vector<Node*> targets = {};
  Value guard = {};  // see ProgramSpec
  CompileOptions options;
  // The inputs' values, given where sizes follow from them (IsSizedByValues; one replica): the
  // program is then for these inputs alone.
  std::vector<Tensor> values = {};
  // How the cores of a replica share the inputs (PartitionsOf); empty: each core has all of them.
  std::vector<Partition> partitions = {};
};

class StepProgram {
 public:
  // The variables that the graph reads are in the store already. Backends and store outlive the
  // program. Error kUsage, with the node's place, for what the cut or a backend refuses.
  StepProgram(const Backends& backends, VariableStore& variables, const StepProgramArgs& args);

  // Makes feeds of the inputs of a global batch: splits the rows over replicas and runs what comes
  // before the device. Where replicas are spread over processes, the rows of this one's will do:
  // the others' feeds are then copies of its first one's. Any thread may call it, also while
  // another is in RunDevice.
  [[nodiscard]] StepFeeds Prepare(const std::vector<Tensor>& inputs);

  // Steps on the device. Fetch i, which must live there, is entry DeviceIndex(i) of the results.
  [[nodiscard]] std::vector<StepResult> RunDevice(std::span<const StepFeeds> steps);
  [[nodiscard]] size_t DeviceIndex(size_t fetch) const;

  // The fetches of a step that the device made, each for the whole batch as below. `wanted` has
  // their indices in StepProgramArgs::fetches.
  [[nodiscard]] std::vector<Tensor> Finish(const StepFeeds& feeds, const StepResult& device,
                                           std::span<const size_t> wanted);

  // Makes one step and returns every fetch for the whole batch: the rows of all replicas in order,
  // and the mean of a floating scalar over replicas.
  [[nodiscard]] std::vector<Tensor> RunWhole(const std::vector<Tensor>& inputs);

  [[nodiscard]] MemoryUse memory() const { return device_->memory(); }
  // See Program::steps_per_call.
  [[nodiscard]] std::optional<int64_t> steps_per_call() const { return device_->steps_per_call(); }

 private:
  // The source of a fetch or a feed: entry `index` of that part's results, or of the inputs.
  enum class Source { kInput, kBefore, kDevice, kAfter };
  struct From {
    Source source = Source::kDevice;
    size_t index = 0;
    bool batch = true;  // replicas have rows of it, or parts of a mean; else each has all of it
  };

  void CompileBefore(Backend& backend, const StepProgramArgs& args);
  void CompileDevice(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  void CompileAfter(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  [[nodiscard]] From Find(Value value) const;
  // `after` has the results of that part, if it ran.
  [[nodiscard]] Tensor Get(const From& from, const StepFeeds& feeds, const StepResult& device,
                           const StepResult& after) const;
  // The results of the part after the device.
  [[nodiscard]] StepResult RunAfter(const StepFeeds& feeds, const StepResult& device);
  [[nodiscard]] Tensor Whole(const std::vector<Tensor>& parts, bool batch) const;
  [[nodiscard]] bool IsBatch(Value value) const;
  // Adds what comes before the device to the inputs' feeds, for these replicas.
  void RunBefore(ReplicaRange replicas, StepFeeds& feeds);
  [[nodiscard]] std::vector<Tensor> OfReplicas(const std::vector<Tensor>& values,
                                               ReplicaRange replicas) const;
  // The feeds for `values` in one replica's shapes. Those with share_ rows are cut as the batch.
  // `known`, if it is not empty, has the values themselves.
  [[nodiscard]] std::vector<FeedSpec> Feeds(const std::vector<Value>& values,
                                            const std::vector<Shape>& shapes,
                                            const std::vector<Tensor>& known) const;

  GraphCut cut_;
  int replicas_ = 1;
  ReplicaRange here_;  // those of this process
  bool broadcast_ = false;
  // The graph knows how many rows a replica has: what comes after runs for each by itself.
  bool after_of_replica_ = false;
  int64_t share_ = 1;  // rows of a replica
  std::vector<Value> inputs_;
  std::vector<Shape> input_shapes_;  // for one replica
  std::vector<Shape> before_shapes_;
  std::vector<Shape> device_shapes_;
  std::vector<Value> before_values_;
  std::vector<Tensor> before_known_;  // their tensors, where the inputs' values are given
  std::vector<Value> device_values_;
  std::vector<Value> after_values_;
  std::vector<From> fetches_;
  std::vector<From> after_feeds_;
  std::mutex preparing_;  // before_ runs one batch at a time
  VariableStore none_;    // the variables of before_: it has none
  std::unique_ptr<Program> before_;
  std::unique_ptr<Program> device_;
  std::unique_ptr<Program> after_;
};

// The programs of one model, by the shapes of their inputs; the last used ones are kept.
class StepPrograms {
 public:
  // `args` lacks the shapes alone. The backends and variables outlive it.
  StepPrograms(const Backends& backends, VariableStore& variables, StepProgramArgs args)
      : backends_(backends),
        variables_(variables),
        args_(std::move(args)),
        is_sized_by_values_(IsSizedByValues(args_.fetches)) {}

  // The program for these shapes, compiled if it is not there. One thread at a time. Throws what
  // StepProgram's constructor throws.
  std::shared_ptr<StepProgram> For(const std::vector<Shape>& shapes);
  // The program for these inputs, of which all rows have `shapes`. Where sizes follow from values
  // (IsSizedByValues) it is for them alone, and is not kept.
  std::shared_ptr<StepProgram> For(const std::vector<Tensor>& inputs,
                                   const std::vector<Shape>& shapes);
  // Whether sizes follow from the inputs' values: there is one replica then.
  [[nodiscard]] bool is_sized_by_values() const { return is_sized_by_values_; }
  // The same, or nullptr if it is not there. Any thread.
  [[nodiscard]] std::shared_ptr<StepProgram> Find(const std::vector<Shape>& shapes);

 private:
  struct Entry {
    std::vector<Shape> shapes;
    std::shared_ptr<StepProgram> program;
  };
  const Backends backends_;
  VariableStore& variables_;
  const StepProgramArgs args_;
  const bool is_sized_by_values_;
  std::mutex mutex_;
  std::deque<Entry> entries_;  // the last used one first
};

// The shapes of tensors, in their order.
[[nodiscard]] std::vector<Shape> ShapesOf(const std::vector<Tensor>& inputs);

// Whether the host, before or after the device, makes any of these fetches of inputs: the whole
// batch is needed for them, wherever its replicas run.
[[nodiscard]] bool ReadsInputsOnHost(const Graph& graph, const std::vector<Value>& fetches);

// The mean over replicas of a scalar fetch, in the fixed tree: finite where all of them are.
[[nodiscard]] float ReplicaMean(const std::vector<Tensor>& values);

}  // namespace tpuest
