#pragma once
// A model's graph for one batch size, compiled: what runs before the device, on it and after it.

#include <memory>
#include <span>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/cut.h"

namespace tpuest {

struct StepProgramArgs {
  const Graph& graph;
  std::vector<Value> inputs;  // placeholders; axis 0 is the batch
  std::vector<Value> fetches;
  std::vector<Node*> targets;
  Value guard;       // see ProgramSpec
  int64_t rows = 1;  // of the global batch, a multiple of options.replicas
  CompileOptions options;
};

class StepProgram {
 public:
  // The variables that the graph reads are in the store already.
  StepProgram(Backend& backend, VariableStore& variables, const StepProgramArgs& args);

  // From the inputs of a global batch to feeds: runs what comes before the device and splits the
  // rows over replicas. May be called while another thread is in RunDevice.
  [[nodiscard]] StepFeeds Prepare(const std::vector<Tensor>& inputs);

  // Steps on the device. Fetch i, which must live there, is entry DeviceIndex(i) of the results.
  [[nodiscard]] std::vector<StepResult> RunDevice(std::span<const StepFeeds> steps);
  [[nodiscard]] size_t DeviceIndex(size_t fetch) const;

  // One step; every fetch for the whole batch: the rows of all replicas in order, and the mean of a
  // floating scalar over replicas.
  [[nodiscard]] std::vector<Tensor> RunWhole(const std::vector<Tensor>& inputs);

  [[nodiscard]] MemoryUse memory() const { return device_->memory(); }

 private:
  // Where a fetch or a feed comes from: entry `index` of that part's results, or of the inputs.
  enum class Source { kInput, kBefore, kDevice, kAfter };
  struct From {
    Source source = Source::kDevice;
    size_t index = 0;
    bool batch = true;  // replicas have rows of it, or parts of a mean; else each has all of it
  };

  void CompileBefore(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  void CompileDevice(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  void CompileAfter(Backend& backend, VariableStore& variables, const StepProgramArgs& args);
  [[nodiscard]] From Find(Value value) const;
  [[nodiscard]] bool IsBatch(Value value) const;
  void AddFeeds(const std::vector<Value>& values, int64_t rows, ProgramSpec& spec) const;

  GraphCut cut_;
  int replicas_ = 1;
  std::vector<Value> inputs_;
  std::vector<Value> before_values_;
  std::vector<Value> device_values_;
  std::vector<Value> after_values_;
  std::vector<From> fetches_;
  std::vector<From> after_feeds_;
  std::unique_ptr<Program> before_;
  std::unique_ptr<Program> device_;
  std::unique_ptr<Program> after_;
};

// The mean over replicas of a scalar fetch, in the fixed tree.
[[nodiscard]] float ReplicaMean(const std::vector<Tensor>& values);

}  // namespace tpuest
