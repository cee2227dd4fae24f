#pragma once
// A Backend is a home that computes: a graph is compiled once for given shapes, then run.

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
#include "core/backend/rows/row_keeping.h"
#include "core/base/step_trace.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace tpuest {

class Collective;

// Keeps values of variables that are newer than the host's.
class VariableHolder {
 public:
  virtual ~VariableHolder() = default;
  // Of what other processes have a part of: all ask for it at the same place of what they exchange.
  [[nodiscard]] virtual Tensor Value(const std::string& name) const = 0;
  [[nodiscard]] virtual bool OthersHavePartOf(const std::string& name) const = 0;
};

// The variables of a run, shared by the programs of all modes. Tensors keep their address until
// they are replaced by Set under another shape or dtype. A device may hold newer values than the
// host: they are brought home when somebody asks for them. One thread at a time.
class VariableStore {
 public:
  [[nodiscard]] bool Has(const std::string& name) const { return tensors_.contains(name); }
  // Check fails if there is none; of what is kept by rows there is none.
  [[nodiscard]] const Tensor& Get(const std::string& name) const;
  // Copies the value in, into the tensor that is there if it fits.
  void Set(const std::string& name, const Tensor& value);
  [[nodiscard]] const std::map<std::string, Tensor>& tensors() const;

  // ---- variables that are kept by rows
  // From now on those that their graph lets (Variable::by_rows) are.
  void KeepRows(const RowKeeping& options);
  // nullptr: none is.
  [[nodiscard]] const RowKeeping* row_keeping() const { return row_keeping_.get(); }
  // Takes a table in, which others may share; in the place of one of the same variables.
  void SetTable(std::shared_ptr<RowTable> table);
  // Lets go of the table of a variable and its slots, until another is set.
  void DropTable(const std::string& name);
  // The table of a variable; nullptr: it is not kept by rows. It stays where it is when another
  // table is set for the variable.
  [[nodiscard]] const RowColumn* FindRows(const std::string& name) const;
  // Each once, by the names of their weights.
  [[nodiscard]] std::vector<std::shared_ptr<RowTable>> tables() const;

  // ---- tables whose rows are counted (row_sights.h)
  // Counts those of a table from now on; in the place of what was known of it.
  void CountRows(CountedTable table);
  // By the names of their weights.
  [[nodiscard]] const std::map<std::string, CountedTable>& counted() const { return counted_; }

  // ---- tables whose changed rows are noted
  // Notes the rows of a table that change from now on, beside those that are known already.
  void NoteChanges(NotedTable table);
  // By the names of their weights.
  [[nodiscard]] const std::map<std::string, NotedTable>& noted() const { return noted_; }

  // ---- for programs that update tables by rows
  // nullptr: those of the variable's table are not watched. It stays where it is when they are
  // watched anew.
  [[nodiscard]] const RowWatch* FindWatch(const std::string& name) const;
  // A step has updated these tables, or was not applied: counts what it saw, and puts the rows
  // that are forgotten to their initial values.
  void EndStep(bool applied);

  // ---- for programs on the host, which read and write at the tensors' addresses
  void BringHome() const;
  void BringHome(const std::string& name) const;
  // Says that any value may have been written.
  void NoteWrites();

  // ---- for programs on a device
  // Goes up when the host's value changes.
  [[nodiscard]] uint64_t version(const std::string& name) const { return versions_.at(name); }
  // The holder has the newest values of these from now on.
  void LeaveWith(std::shared_ptr<VariableHolder> holder, const std::vector<std::string>& names);
  [[nodiscard]] const std::shared_ptr<VariableHolder>& holder() const { return holder_; }
  // In the chief of a group: called before a variable comes home that other processes have a part
  // of, so that they bring it home, too.
  void OnSharedHomecoming(std::function<void(const std::string& name)> tell) {
    tell_others_ = std::move(tell);
  }

 private:
  void ForgetRow(const RowVariable& variable, int64_t width, int64_t row);

  mutable std::map<std::string, Tensor> tensors_;
  std::map<std::string, uint64_t> versions_;
  std::shared_ptr<const RowKeeping> row_keeping_;
  std::map<std::string, RowColumn> columns_;
  std::map<std::string, CountedTable> counted_;
  std::map<std::string, NotedTable> noted_;
  std::map<std::string, RowWatch> watches_;
  std::shared_ptr<VariableHolder> holder_;
  std::function<void(const std::string& name)> tell_others_;
  mutable std::set<std::string> away_;  // the holder's value is the newest
};

// A FeedSpec says what is fed: a Placeholder and its shape in one replica. `cut`: axis 0 is the
// batch.
struct FeedSpec {
  Value placeholder;
  Shape shape;
  bool cut = true;
  // Valid: the program is for this value alone, and what is fed later is not looked at. For graphs
  // in which sizes follow from values (IsSizedByValues).
  Tensor value = {};
  // How the cores of a replica share it, in the shape above.
  Partition partition = {};
};

struct ProgramSpec {
  const Graph* graph = nullptr;
  std::vector<FeedSpec> feeds;
  std::vector<Value> fetches;
  std::vector<Node*> targets;  // run for their effect: a train_op, assignments
  // A scalar (the loss). Where it is not finite on a replica, or a variable would not be finite
  // after the step, none of the step's updates is applied and the run ends after that step. Not
  // valid: updates are applied whatever they write.
  Value guard;
};

// The precision in which a device multiplies float32: as its makers have it (TPUs and newer GPUs
// round what they multiply), in three rounded parts, or as float32. XLA's CPU compiler always does
// the last.
enum class MatmulPrecision { kDefault, kHigh, kHighest };

struct DeviceOptions {
  int64_t staging_bytes = int64_t{64} << 20;  // of batches that a replica takes at once
  MatmulPrecision matmul_precision = MatmulPrecision::kDefault;
  // Of the tables of a core. Where they have more, the replicas share their rows.
  int64_t table_bytes = int64_t{8} << 30;
  // A GPU's programs give the same bits in each run; false: they may be faster.
  bool deterministic_ops = true;
};

struct CompileOptions {
  int replicas = 1;    // logical replicas of the whole run
  int partitions = 1;  // cores that share a replica's work on a device; the CPU engine has none
  int threads = 1;     // step threads of this process
  uint64_t seed = 0;   // of random ops
  // A random op with a seed of its own draws by its name as well: the rule of older runs.
  bool seeds_by_name = false;
  bool fuse = true;      // off for comparison
  bool cut_rows = true;  // off: every replica is one block
  // Most steps that a device makes without looking at the host; fewer where the feeds of one
  // replica need more bytes than may be staged.
  int64_t steps_per_call = 1;
  DeviceOptions device = {};
  // Gets an event a kernel of the CPU engine; nullptr: nothing is measured.
  StepTrace* trace = nullptr;
  // Where the replicas are spread over processes: this one computes its share of them, and has the
  // fetches of all replicas in the chief alone; elsewhere the others' are those of its first one.
  // nullptr: all replicas are here.
  Collective* collective = nullptr;
};

// The feeds of one step: feeds[i][r] goes to spec.feeds[i] on replica r.
using StepFeeds = std::vector<std::vector<Tensor>>;

struct StepResult {
  // fetches[i][r]: spec.fetches[i] on replica r.
  std::vector<std::vector<Tensor>> fetches;
  bool applied = true;  // false: the guard or a variable is not finite
  // The first variable of the graph that would not be finite; empty where the guard is not.
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
  // Runs as many steps as feeds are given, one after the other; variable updates are visible to the
  // next step. Fewer results than feeds: the guard stopped it.
  virtual std::vector<StepResult> Run(std::span<const StepFeeds> steps) = 0;
  [[nodiscard]] virtual MemoryUse memory() const = 0;
  // The shapes of spec.fetches, on one replica.
  [[nodiscard]] virtual std::vector<Shape> fetch_shapes() const = 0;
  // The number of steps that are best given at once; nullopt: it does not matter.
  [[nodiscard]] virtual std::optional<int64_t> steps_per_call() const { return std::nullopt; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Error kUsage, with the node's origin, for what this home cannot do; kResource where the device
  // has too little memory for it.
  [[nodiscard]] virtual std::unique_ptr<Program> Compile(const ProgramSpec& spec,
                                                         const CompileOptions& options,
                                                         VariableStore& variables) = 0;
  // Whether its programs take variables that are kept by rows.
  [[nodiscard]] virtual bool keeps_rows() const { return false; }
};

// The homes of a model's parts: of what stands before and after the device, and of the device's
// steps. They may be the same.
struct Backends {
  Backend& host;
  Backend& device;
};

}  // namespace tpuest
