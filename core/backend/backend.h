#pragma once
// A Backend compiles a graph once for given shapes into a Program, which then runs any number of
// steps.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/partition.h"
#include "core/backend/rows/table_store.h"
#include "core/base/step_trace.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace tpuest {

class Collective;

// Holds values of variables that are newer than the host's.
class VariableHolder {
 public:
  virtual ~VariableHolder() = default;
  // Copies a value to the host. If other processes hold a part of it, all processes call this at
  // the same point of their exchange.
  [[nodiscard]] virtual Tensor Value(const std::string& name) const = 0;
  [[nodiscard]] virtual bool OthersHavePartOf(const std::string& name) const = 0;
};

// The variables of a run, shared by the programs of all modes. A tensor keeps its address until Set
// replaces it by one of another shape or dtype. A device may hold newer values than the host; they
// are copied to the host on demand. One thread at a time.
class VariableStore {
 public:
  [[nodiscard]] bool Has(const std::string& name) const { return tensors_.contains(name); }
  // Check fails if there is none, as for variables that are kept by rows.
  [[nodiscard]] const Tensor& Get(const std::string& name) const;
  // Copies the value, into the existing tensor if it fits.
  void Set(const std::string& name, const Tensor& value);
  [[nodiscard]] const std::map<std::string, Tensor>& tensors() const;

  // ---- tables
  [[nodiscard]] TableStore& tables() { return tables_; }
  [[nodiscard]] const TableStore& tables() const { return tables_; }
  // Adds a table to tables(); its variables have no tensors from now on.
  void SetTable(std::shared_ptr<RowTable> table);
  // Ends a step: if it was applied, counts the rows that it used and resets forgotten rows to their
  // initial values.
  void EndStep(bool applied);

  // ---- for programs on the host, which read and write at the tensors' addresses
  // Copies values that a device holds to the host: all, or one.
  void CopyToHost() const;
  void CopyToHost(const std::string& name) const;
  // Notes that any value may have been written.
  void NoteWrites();

  // ---- for programs on a device
  // A number that grows when the host's value changes.
  [[nodiscard]] uint64_t version(const std::string& name) const { return versions_.at(name); }
  // Notes that the holder has the newest values of these variables.
  void LeaveWith(std::shared_ptr<VariableHolder> holder, const std::vector<std::string>& names);
  [[nodiscard]] const std::shared_ptr<VariableHolder>& holder() const { return holder_; }
  // In the chief of a group: sets the function that is called before a variable is copied to the
  // host if other processes hold parts of it, so that they copy it as well.
  void OnSharedCopyToHost(std::function<void(const std::string& name)> tell) {
    tell_others_ = std::move(tell);
  }

 private:
  mutable std::map<std::string, Tensor> tensors_;
  std::map<std::string, uint64_t> versions_;
  TableStore tables_;
  std::shared_ptr<VariableHolder> holder_;
  std::function<void(const std::string& name)> tell_others_;
  mutable std::set<std::string> away_;  // the holder's value is the newest
};

// A placeholder that is fed, with its shape on one replica. `cut`: axis 0 is the batch.
struct FeedSpec {
  Value placeholder;
  Shape shape;
  bool cut = true;
  // If valid, the program is compiled for this value only, and values that are fed later are
  // ignored. For graphs in which sizes depend on values (IsSizedByValues).
  Tensor value = {};
  // The partition of `shape` over the cores of a replica.
  Partition partition = {};
};

struct ProgramSpec {
  const Graph* graph = nullptr;
  std::vector<FeedSpec> feeds;
  std::vector<Value> fetches;
  std::vector<Node*> targets;  // run for their effect: a train_op, assignments
  // A scalar (the loss). If it is not finite on a replica, or a variable would not be finite after
  // the step, none of the step's updates is applied and the run ends after that step. If it is not
  // valid, updates are always applied.
  Value guard;
};

// Precision of float32 matrix products on a device: the device's default (TPUs and newer GPUs round
// their inputs), three rounded parts, or full float32. XLA's CPU compiler always uses full float32.
enum class MatmulPrecision { kDefault, kHigh, kHighest };

struct DeviceOptions {
  int64_t staging_bytes = int64_t{64} << 20;  // of batches that a replica receives per call
  MatmulPrecision matmul_precision = MatmulPrecision::kDefault;
  // Bytes of all tables on a core. If they have more, the replicas share their rows.
  int64_t table_bytes = int64_t{8} << 30;
  // Whether a GPU's programs must give the same bits in each run; without it they may be faster.
  bool deterministic_ops = true;
};

struct CompileOptions {
  int replicas = 1;    // logical replicas of the whole run
  int partitions = 1;  // cores that share a replica's work on a device; the CPU engine has none
  int threads = 1;     // step threads of this process
  uint64_t seed = 0;   // of random ops
  // Random ops with a seed of their own also use their name: the rule of older runs.
  bool seeds_by_name = false;
  bool fuse = true;      // off for comparison
  bool cut_rows = true;  // off: every replica is one block
  // Maximum steps that a device runs without the host; fewer if the feeds of one replica need more
  // bytes than staging_bytes.
  int64_t steps_per_call = 1;
  DeviceOptions device = {};
  // Gets one event per kernel of the CPU engine; nullptr measures nothing.
  StepTrace* trace = nullptr;
  // Set if the replicas are spread over processes: this process computes its share of them. Only
  // the chief gets the fetches of all replicas; elsewhere the fetches of remote replicas are those
  // of the first local one. nullptr: all replicas are local.
  Collective* collective = nullptr;
};

// The feeds of one step: feeds[i][r] goes to spec.feeds[i] on replica r.
using StepFeeds = std::vector<std::vector<Tensor>>;

struct StepResult {
  // fetches[i][r]: spec.fetches[i] on replica r.
  std::vector<std::vector<Tensor>> fetches;
  bool applied = true;  // false if the guard or a variable is not finite
  // The first variable of the graph that would not be finite; empty if the guard is not finite.
  std::string not_finite = {};
};

struct MemoryUse {
  size_t constants = 0;
  size_t global = 0;    // values that are the same for all replicas
  size_t replicas = 0;  // all replicas together
  size_t blocks = 0;    // all threads together
  size_t parts = 0;     // parts of sums over rows
};

class Program {
 public:
  virtual ~Program() = default;
  // Runs one step per entry of `steps`; each step sees the variable updates of the steps before it.
  // Returns fewer results than steps if the guard stopped the run.
  virtual std::vector<StepResult> Run(std::span<const StepFeeds> steps) = 0;
  [[nodiscard]] virtual MemoryUse memory() const = 0;
  // The shapes of spec.fetches, on one replica.
  [[nodiscard]] virtual std::vector<Shape> fetch_shapes() const = 0;
  // The best number of steps per call of Run; nullopt if it does not matter.
  [[nodiscard]] virtual std::optional<int64_t> steps_per_call() const { return std::nullopt; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Error kUsage, with the node's origin, for what this backend cannot do; kResource if the device
  // has too little memory.
  [[nodiscard]] virtual std::unique_ptr<Program> Compile(const ProgramSpec& spec,
                                                         const CompileOptions& options,
                                                         VariableStore& variables) = 0;
  // Whether its programs take variables that are kept by rows.
  [[nodiscard]] virtual bool keeps_rows() const { return false; }
};

// The backends of a model's parts: host pre- and post-processing, and the device program. They may
// be the same.
struct Backends {
  Backend& host;
  Backend& device;
};

}  // namespace tpuest
