#pragma once
// A model's graph for one batch size, compiled into the parts before the device, on it and after
// it.

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
  // The shapes of the inputs; axis 0 is the global batch, a multiple of options.replicas unless
  // `broadcast`.
  std::vector<Shape> shapes = {};
  std::vector<Value> fetches;
  // every replica gets the whole batch, and the first replica's rows are returned
  bool broadcast = false;
  std::vector<Node*> targets = {};
  Value guard = {};  // see ProgramSpec
  CompileOptions options;
  // The values of the inputs, given if sizes follow from them (IsSizedByValues; one replica): the
  // program is then valid for these inputs only.
  std::vector<Tensor> values = {};
  // How the cores of a replica share the inputs (PartitionsOf); empty: each core has all of them.
  std::vector<Partition> partitions = {};
};

class StepProgram {
 public:
  // The store must contain the variables that the graph reads. Backends and store outlive the
  // program. Throws Error kUsage, with the node's place, for a node that the cut or a backend
  // refuses.
  StepProgram(const Backends& backends, VariableStore& variables, const StepProgramArgs& args);

  // Makes feeds from the inputs of a global batch: splits the rows over replicas and runs the part
  // before the device. If replicas are divided among processes, the rows of this process's replicas
  // suffice: the feeds of all others are then copies of its first replica's. Any thread may call
  // it, even while another is in RunDevice.
  [[nodiscard]] StepFeeds Prepare(const std::vector<Tensor>& inputs);

  // Runs steps on the device. Fetch i, which must be there, is entry DeviceIndex(i) of the results.
  [[nodiscard]] std::vector<StepResult> RunDevice(std::span<const StepFeeds> steps);
  [[nodiscard]] size_t DeviceIndex(size_t fetch) const;

  // Returns fetches of a step after its device part, each for the whole batch as in RunWhole.
  // `wanted` has their indices in StepProgramArgs::fetches.
  [[nodiscard]] std::vector<Tensor> Finish(const StepFeeds& feeds, const StepResult& device,
                                           std::span<const size_t> wanted);

  // Runs one step and returns every fetch for the whole batch: the rows of all replicas in order,
  // and the mean of a floating-point scalar over replicas.
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
    // replicas have rows of it, or parts of a mean; otherwise each has all of it
    bool batch = true;
  };

  void CompileBefore(Backend& backend, const StepProgramArgs& args);
  void CompileDevice(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  void CompileAfter(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  [[nodiscard]] From Find(Value value) const;
  // `after` has the results of that part, if it ran.
  [[nodiscard]] Tensor Get(const From& from, const StepFeeds& feeds, const StepResult& device,
                           const StepResult& after) const;
  // Returns the results of the part after the device.
  [[nodiscard]] StepResult RunAfter(const StepFeeds& feeds, const StepResult& device);
  [[nodiscard]] Tensor Whole(const std::vector<Tensor>& parts, bool batch) const;
  [[nodiscard]] bool IsBatch(Value value) const;
  // Runs the part before the device for these replicas and adds its results to the feeds.
  void RunBefore(ReplicaRange replicas, StepFeeds& feeds);
  [[nodiscard]] std::vector<Tensor> OfReplicas(const std::vector<Tensor>& values,
                                               ReplicaRange replicas) const;
  // Returns the feeds for `values` in one replica's shapes. Those with share_ rows are split like
  // the batch. `known`, unless empty, has the values themselves.
  [[nodiscard]] std::vector<FeedSpec> Feeds(const std::vector<Value>& values,
                                            const std::vector<Shape>& shapes,
                                            const std::vector<Tensor>& known) const;

  GraphCut cut_;
  int replicas_ = 1;
  ReplicaRange here_;  // the replicas of this process
  bool broadcast_ = false;
  // True if the graph depends on the number of rows per replica: the part after the device then
  // runs for each replica by itself.
  bool after_of_replica_ = false;
  int64_t share_ = 1;  // rows per replica
  std::vector<Value> inputs_;
  std::vector<Shape> input_shapes_;  // for one replica
  std::vector<Shape> before_shapes_;
  std::vector<Shape> device_shapes_;
  std::vector<Value> before_values_;
  std::vector<Tensor> before_known_;  // their tensors, if the inputs' values are given
  std::vector<Value> device_values_;
  std::vector<Value> after_values_;
  std::vector<From> fetches_;
  std::vector<From> after_feeds_;
  std::mutex preparing_;  // before_ runs one batch at a time
  VariableStore none_;    // the variables of before_, which has none
  std::unique_ptr<Program> before_;
  std::unique_ptr<Program> device_;
  std::unique_ptr<Program> after_;
};

// The programs of one model, by the shapes of their inputs; keeps those used last.
class StepPrograms {
 public:
  // `args` lacks only the shapes. The backends and variables outlive it.
  StepPrograms(const Backends& backends, VariableStore& variables, StepProgramArgs args)
      : backends_(backends),
        variables_(variables),
        args_(std::move(args)),
        is_sized_by_values_(IsSizedByValues(args_.fetches)) {}

  // Returns the program for these shapes, and compiles it if necessary. One thread at a time.
  // Throws as StepProgram's constructor does.
  std::shared_ptr<StepProgram> For(const std::vector<Shape>& shapes);
  // Returns the program for these inputs, whose rows all have `shapes`. If sizes follow from values
  // (IsSizedByValues), it is valid for these inputs only, and is not kept.
  std::shared_ptr<StepProgram> For(const std::vector<Tensor>& inputs,
                                   const std::vector<Shape>& shapes);
  // Whether sizes follow from the inputs' values; there is one replica then.
  [[nodiscard]] bool is_sized_by_values() const { return is_sized_by_values_; }
  // Returns the program for these shapes, or nullptr if it is not compiled. Any thread.
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
  std::deque<Entry> entries_;  // most recently used first
};

// The shapes of tensors, in their order.
[[nodiscard]] std::vector<Shape> ShapesOf(const std::vector<Tensor>& inputs);

// Whether the host, before or after the device, computes any of these fetches from inputs: it then
// needs the whole batch, wherever the replicas run.
[[nodiscard]] bool ReadsInputsOnHost(const Graph& graph, const std::vector<Value>& fetches);

// Returns the mean over replicas of a scalar fetch, in the fixed tree; finite if all values are.
[[nodiscard]] float ReplicaMean(const std::vector<Tensor>& values);

}  // namespace tpuest
