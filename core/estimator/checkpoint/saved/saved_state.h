#pragma once
// A checkpoint in memory, and the entries "tpuest/..." beside its variables, which TensorFlow
// ignores. Nothing in them depends on a clock: a run that was stopped and resumed writes the same
// bytes.
//
//   tpuest/seed             int64 []   tf_random_seed
//   tpuest/seed_rule        int64 []   2: an op with its own seed uses only that and the run's
//                                      seed; missing beside tpuest/seed: it uses its name as well
//   tpuest/stream_position  int64 [2]  epoch, records consumed of it
//   tpuest/goal             int64 [2]  an unfinished `steps: N`: the global step it ends at, N
//   tpuest/cut              int64 [2]  only in preemption checkpoints: the step of the last regular
//                                      checkpoint, the step at which the interrupted loop began
//   tpuest/looks            int64 [n]  in a run that is not complete: the steps of the last polls
//                                      of the hooks that count steps between polls; -1: none
//   tpuest/tables           string [n]  variables that LoadNewest leaves on disk
//   tpuest/seen/, tpuest/increment/  rows of tables (row_seen.h, core/io/increment.h)
//   tpuest/conditions       float64 [3 n]  in a run that is not complete, for each ConditionHook:
//                                      the number of steps so far, their average loss, and whether
//                                      its condition holds

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/backend/rows/row_keeping.h"
#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/io/bundle.h"
#include "core/io/object_graph.h"

namespace tpuest {

inline constexpr const char* kGoalEntry = "tpuest/goal";
inline constexpr const char* kTablesEntry = "tpuest/tables";

// The end of an unfinished `steps: N`.
struct Goal {
  int64_t step = 0;
  int64_t steps = 0;
  bool operator==(const Goal&) const = default;
};

// The last regular moments of a run that a stop request interrupted, as in a run without the
// request.
struct CutRun {
  int64_t saved = 0;       // step of its last regular checkpoint
  int64_t loop_begin = 0;  // step at which its loop began
  bool operator==(const CutRun&) const = default;
};

// The run's state beside its variables: a run that resumes with it computes the same bits as a run
// that was never stopped.
struct ResumePoint {
  std::optional<uint64_t> seed;
  bool seeds_by_name = false;  // tpuest/seed without tpuest/seed_rule: the rule of older runs
  StreamPosition position;
  std::optional<Goal> goal;
  // Set in a preemption checkpoint, which a run without the stop request would not have written.
  std::optional<CutRun> cut;
  std::vector<int64_t> looks;
  std::vector<double> conditions;

  // Marks the run as complete: the next run starts a new one.
  void Complete() {
    goal.reset();
    looks.clear();
    conditions.clear();
  }
};

// A checkpoint in memory. The tensors of a checkpoint that was just saved share the run's
// variables.
struct SavedState {
  std::string prefix;
  int64_t global_step = 0;
  // All tensors by key: a variable's name or, in an object-based checkpoint, the key in `objects`.
  // global_step is here under its name in either format.
  std::map<std::string, Tensor> tensors;
  std::optional<ObjectGraph> objects;
  ResumePoint resume;
  // Entries of large tables, with verified checksums, stay on disk until they are needed.
  std::shared_ptr<const BundleReader> on_disk;
  std::set<std::string> left;
  // Whether the rows of variables that are stored in slices were partitioned by mod
  // (slice_order.h).
  bool dealt_by_mod = false;
  // The tables that a run keeps by rows, if it has just saved the checkpoint: shared with the run,
  // like its other variables.
  std::vector<std::shared_ptr<RowTable>> tables;
};

// Converts a ResumePoint to entries, and a checkpoint's tensors to a ResumePoint. A missing entry,
// or one of another dtype or size, leaves its member at the default.
[[nodiscard]] std::vector<NamedTensor> ResumeEntries(const ResumePoint& point);
[[nodiscard]] ResumePoint ReadResumePoint(const std::map<std::string, Tensor>& tensors);

// Returns the entries of a checkpoint that stay on disk: those that tpuest/tables names.
[[nodiscard]] std::set<std::string> LeftEntries(const BundleReader& reader);

// Reads a checkpoint except for those entries, whose checksums it verifies; `path` is as
// FindCheckpoint takes it. Throws Error kCheckpoint if it is missing or damaged.
[[nodiscard]] SavedState LoadCheckpoint(const std::string& path);
// Returns what is wrong with the files of a checkpoint; nullopt if all of it can be read.
[[nodiscard]] std::optional<std::string> DamageOf(const std::string& prefix);

// Whether the run of this checkpoint uses the older rule for ops with their own seed
// (ResumePoint::seeds_by_name); false if the checkpoint is damaged.
[[nodiscard]] bool SeedsByName(const std::string& prefix);
// Returns LatestCheckpoint or, if that is a preemption checkpoint, the checkpoint before it;
// nullopt if there is none.
[[nodiscard]] std::optional<std::string> LatestRegularCheckpoint(const std::string& model_dir);

// The same or, if the state file is missing or unusable, the folder's newest regular checkpoint
// together with the file's fault.
struct RegularCheckpoint {
  std::optional<std::string> prefix;
  std::string fault;
};
[[nodiscard]] RegularCheckpoint NewestRegularCheckpoint(const std::string& model_dir);

// Whether LoadNewest uses an older checkpoint if the newest is damaged or missing.
enum class OlderCheckpoint { kTake, kRefuse };
[[nodiscard]] constexpr OlderCheckpoint OlderIf(bool is_allowed) {
  return is_allowed ? OlderCheckpoint::kTake : OlderCheckpoint::kRefuse;
}

// Loads the newest checkpoint of a folder that can be read completely. Warns of each one that
// cannot, and names the next one. Also warns of a state file that is missing, empty or damaged, and
// then uses the newest checkpoint of the folder. Returns nullopt if there is neither. Throws Error
// kCheckpoint if there are checkpoints and none can be read; with kRefuse also if the newest
// cannot.
[[nodiscard]] std::optional<SavedState> LoadNewest(const std::string& model_dir, Log& log,
                                                   OlderCheckpoint older = OlderCheckpoint::kTake);

}  // namespace tpuest
