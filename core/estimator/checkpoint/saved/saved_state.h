#pragma once
// A checkpoint in memory, and the entries "tpuest/..." that it holds beside variables: TensorFlow
// passes over them. Nothing in them depends on a clock: a run that was cut and resumed writes the
// same bytes.
//
//   tpuest/seed             int64 []   tf_random_seed
//   tpuest/seed_rule        int64 []   2: an op with a seed of its own draws by it and the run's
//                                      seed only; missing beside tpuest/seed: by its name as well
//   tpuest/stream_position  int64 [2]  epoch, records consumed of it
//   tpuest/goal             int64 [2]  an unfinished `steps: N`: the global step it ends at, N
//   tpuest/cut              int64 [2]  in what a stop request alone saved: the step of the last
//                                      checkpoint before it, the step that the cut loop began at
//   tpuest/looks            int64 [n]  of a run that is not complete: the steps of the last looks
//                                      of the hooks that count steps between looks, -1: there was
//                                      none
//   tpuest/tables           string [n]  variables that LoadNewest leaves on the disk
//   tpuest/seen/, tpuest/increment/  of the rows of tables (row_seen.h, core/io/increment.h)
//   tpuest/conditions       float64 [3 n]  of a run that is not complete: of each ConditionHook the
//                                      steps so far, the average of their losses, and its truths

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

// The moments of a run that a stop request cut, as one that was not cut has them.
struct CutRun {
  int64_t saved = 0;       // step of its last checkpoint
  int64_t loop_begin = 0;  // step that its loop began at
  bool operator==(const CutRun&) const = default;
};

// The run's state beside its variables: a run that goes on with it makes the bits of one that was
// not cut.
struct ResumePoint {
  std::optional<uint64_t> seed;
  bool seeds_by_name = false;  // a seed without tpuest/seed_rule: the rule that the run began with
  StreamPosition position;
  std::optional<Goal> goal;
  // Only a stop request made this checkpoint: it is an extra, which no run without the request has.
  std::optional<CutRun> cut;
  std::vector<int64_t> looks;
  std::vector<double> conditions;

  // The run has made its last step: another one begins anew.
  void Complete() {
    goal.reset();
    looks.clear();
    conditions.clear();
  }
};

// A checkpoint in memory. The tensors of one that was just saved share the run's variables.
struct SavedState {
  std::string prefix;
  int64_t global_step = 0;
  // All tensors by their keys: a variable's name, or in an object-based checkpoint the key that
  // `objects` says. global_step stands here under its name in either.
  std::map<std::string, Tensor> tensors;
  std::optional<ObjectGraph> objects;
  ResumePoint resume;
  // Entries of large tables, whose checksums were looked at, stay on the disk until they are asked
  // for.
  std::shared_ptr<const BundleReader> on_disk;
  std::set<std::string> left;
  // Whether rows of what is stored in slices were dealt out by mod (slice_order.h).
  bool dealt_by_mod = false;
  // What a run keeps by rows, where it has just saved it: shared, as its other variables.
  std::vector<std::shared_ptr<RowTable>> tables;
};

// The entries of a ResumePoint, and the ResumePoint of a checkpoint's tensors. An entry that is
// missing, or of another dtype or size, leaves its member as it is by default.
[[nodiscard]] std::vector<NamedTensor> ResumeEntries(const ResumePoint& point);
[[nodiscard]] ResumePoint ReadResumePoint(const std::map<std::string, Tensor>& tensors);

// The entries of a checkpoint that are left on the disk: those that tpuest/tables names.
[[nodiscard]] std::set<std::string> LeftEntries(const BundleReader& reader);

// Reads a checkpoint, but for those entries, whose checksums it looks at; `path` is as
// FindCheckpoint takes it. Error kCheckpoint for one that is missing or damaged.
[[nodiscard]] SavedState LoadCheckpoint(const std::string& path);
// What is wrong with the files of a checkpoint; nullopt: all of it can be read.
[[nodiscard]] std::optional<std::string> DamageOf(const std::string& prefix);

// Whether the run of this checkpoint has the first rule for ops with a seed of their own
// (ResumePoint::seeds_by_name); of a damaged one: no.
[[nodiscard]] bool SeedsByName(const std::string& prefix);
// LatestCheckpoint, but for an extra the one before it; nullopt where there is none.
[[nodiscard]] std::optional<std::string> LatestRegularCheckpoint(const std::string& model_dir);

// The same, but where the state file is missing or of no use the newest regular one of the folder,
// with the file's fault.
struct RegularCheckpoint {
  std::optional<std::string> prefix;
  std::string fault;
};
[[nodiscard]] RegularCheckpoint NewestRegularCheckpoint(const std::string& model_dir);

// Whether LoadNewest takes an older checkpoint where the newest is damaged or lost.
enum class OlderCheckpoint { kTake, kRefuse };
[[nodiscard]] constexpr OlderCheckpoint OlderIf(bool is_allowed) {
  return is_allowed ? OlderCheckpoint::kTake : OlderCheckpoint::kRefuse;
}

// Loads the newest checkpoint of a folder that can be read whole; a warning names each one that
// cannot, and the one that is tried instead. A state file that is missing, empty or damaged is
// warned of as well: the newest checkpoint of the folder is taken. nullopt if there is neither.
// Error kCheckpoint if there is something and none can be read; with kRefuse also if the newest
// cannot.
[[nodiscard]] std::optional<SavedState> LoadNewest(const std::string& model_dir, Log& log,
                                                   OlderCheckpoint older = OlderCheckpoint::kTake);

}  // namespace tpuest
