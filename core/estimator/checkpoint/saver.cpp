// A run's checkpoints on disk: the newest keep_checkpoint_max, and some older ones.
//
// Input: a step, the values of the variables, and the run's progress. Output, in order:
//
//   model.ckpt-2000.meta                the graph (checkpoint_save_graph_def)
//   model.ckpt-2000.data-00000-of-...   the values, and the entries tpuest/... of the ResumePoint
//   model.ckpt-2000.index               written last: it completes the checkpoint
//   checkpoint                          names the kept checkpoints, 2000 as model_checkpoint_path
//   model.ckpt-1000.*                   removed if it is no longer kept. .tpuest/removing names it
//                                       before all of this, so that it is removed even if the
//                                       process is killed and the state file is lost
//
//   keep_checkpoint_max: 2    kept_ = {1000, 1500} ── Save(2000) ──▶ kept_ = {1500, 2000}
//
// A stop request at 1700 saves a preemption checkpoint, extra_. The state file names it as the
// newest, it does not count as one of kept_, and Save(2000) of the resumed run removes it.
// .tpuest/removing names it from the start, so that it is recognized even if its own files are
// damaged.
//
// With tpuest.embeddings.incremental the checkpoints between two base checkpoints are incremental
// (core/io/increment.h); each depends on the base checkpoint before it. The store records the rows
// that changed since then. A restored incremental checkpoint contains this record, so the resumed
// run continues it. A preemption checkpoint is also incremental, but does not count as one of the
// increments.
//
//   incremental: 3    1000 is a base, 1500 and 2000 depend on it, 2500 is a base, ...
//
// A base checkpoint may drop out of kept_ before its increments. It stays on disk, and in
// .tpuest/removing, until no increment depends on it.
//
// Invariants, even if the process is killed at any point:
//   - Every checkpoint that the state file names is complete on disk: it is written before it is
//     named, and removed only when it is no longer named.
//   - The files of a checkpoint without an index belong to no checkpoint; Save removes them if it
//     throws.
//   - Two runs with the same variables and ResumePoint write the same bytes, which contain no time.
//
// On a mounted bucket, whose files cannot have temporary names (core/base/process/mounted.h), only
// the order of writes commits a checkpoint: every file is written under its final name, and the
// index is read back before it is named and before any checkpoint is removed. A checkpoint that
// drops out of kept_ stays on disk if keep_best keeps it, or as the one per
// keep_checkpoint_every_n_hours, as in tf.train.Saver. Without keep_checkpoint_max all stay, and
// the state file names only the last one.

#include "core/estimator/checkpoint/saver.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/backend/rows/table_records.h"
#include "core/base/process/files.h"
#include "core/base/process/mounted.h"
#include "core/estimator/checkpoint/rows/row_entries.h"
#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/estimator/model_dir/best_checkpoints.h"
#include "core/estimator/model_dir/leftovers.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/graph/write/meta_graph.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {
namespace {

constexpr double kSecondsPerHour = 3600;

// The time of the file's last change, in seconds since the epoch; 0 if the file does not exist.
double WrittenAt(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return static_cast<double>(info.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

// The path of a missing data file of a checkpoint, or "".
std::string LostShard(const std::string& prefix) {
  std::string first = BundleDataPath(prefix, 0, 1);
  const std::string beginning = BaseName(first.substr(0, first.rfind('-') + 1));
  const std::vector<std::string> names = ListDirectory(DirName(prefix));
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(beginning);
  });
  if (found == names.end()) return first;
  const int shards = std::stoi(found->substr(beginning.size()));
  for (int shard = 0; shard < shards; ++shard) {
    std::string path = BundleDataPath(prefix, shard, shards);
    if (!FileExists(path)) return path;
  }
  return "";
}

// On a mounted bucket, written data counts only once the index has been read back completely.
void ReadBack(const std::string& prefix) {
  try {
    const BundleReader reader(prefix);
    const std::string data = LostShard(prefix);
    if (data.empty()) return;
    throw Error(Code::kResource, fmt::format("{}: was written but does not exist", data));
  } catch (const Error& error) {
    throw Error(Code::kResource,
                fmt::format("{}: the mounted bucket does not return what was written: {}", prefix,
                            error.message()),
                "the earlier checkpoints still exist");
  }
}

}  // namespace

Saver::Saver(const SaverArgs& args, const std::string& restored, const std::optional<CutRun>& cut)
    : args_(args) {
  next_preserved_ =
      args_.clock.WallSeconds() + args_.config.keep_checkpoint_every_n_hours * kSecondsPerHour;
  if (args_.config.checkpoint_save_graph_def) {
    // Serializes the graph in parallel with other work before the first step.
    meta_graph_ = std::async(std::launch::async, [this] {
      return ToMetaGraphDef({.graph = args_.graph,
                             .train_op = args_.train_op,
                             .loss = args_.loss,
                             .summaries = args_.summaries});
    });
  }
  if (args_.config.checkpoint_format == "checkpoint") layout_.emplace(args_.graph);
  if (!restored.empty()) Recover(restored, cut);
}

void Saver::Recover(const std::string& restored, const std::optional<CutRun>& cut) {
  last_step_ = StepOfCheckpoint(restored);
  regular_step_ = cut ? cut->saved : last_step_;
  const auto most = static_cast<size_t>(args_.config.keep_checkpoint_max.value_or(0));
  for (const std::string& prefix :
       KeptCheckpoints(args_.model_dir, restored, cut.has_value(), most)) {
    kept_.push_back({prefix, WrittenAt(BundleIndexPath(prefix))});
  }
  if (cut) extra_ = restored;
  if (args_.incremental > 1 && !layout_) RecoverBase(restored, cut.has_value());
  const std::optional<CheckpointState> state = ReadableState(args_.model_dir);
  const CheckpointState expected = State();
  if (!state || state->model_checkpoint_path != restored ||
      state->all_model_checkpoint_paths != expected.all_model_checkpoint_paths) {
    WriteState();
  }
  stuck_ = RemoveNotedCheckpoints(args_.model_dir, last_step_.value_or(0));
}

// Changes are recorded since the base of the restored checkpoint, or since it was written.
void Saver::RecoverBase(const std::string& restored, bool is_extra) {
  base_ = BaseOf(restored);
  if (!base_ && !is_extra) base_ = {.prefix = restored, .checksum = IndexChecksum(restored)};
  if (!base_) return;
  const BundleReader base(base_->prefix, /*as_written=*/true);
  if (!MayStandOn(base, args_.variables, args_.whole_table_bytes)) base_.reset();
}

std::optional<IncrementBase> Saver::BaseFor(const std::string& prefix,
                                            const ResumePoint& resume) const {
  if (!base_ || base_->prefix == prefix || args_.variables.tables().noted().empty())
    return std::nullopt;
  IncrementBase base = *base_;
  if (!resume.cut && prefix != last_regular_prefix()) ++base.place;
  return base.place < args_.incremental ? std::optional(base) : std::nullopt;
}

void Saver::NoteBase(const std::string& prefix, const ResumePoint& resume,
                     const std::optional<IncrementBase>& base) {
  if (base) {
    base_ = base;
  } else if (args_.incremental > 1 && !layout_ && !resume.cut) {
    base_ = {.prefix = prefix, .checksum = IndexChecksum(prefix)};
    ForgetChanges(args_.variables.tables());
  }
}

bool Saver::HasSaved(int64_t step, const ResumePoint& resume) const {
  return last_step_ == step && (extra_.empty() || resume.cut);
}

std::string Saver::last_prefix() const { return extra_.empty() ? last_regular_prefix() : extra_; }

std::string Saver::last_regular_prefix() const { return kept_.empty() ? "" : kept_.back().prefix; }

std::string Saver::base_path() const { return CheckpointBase(args_.model_dir); }

void Saver::Save(int64_t step, const ResumePoint& resume) {
  const std::string prefix = CheckpointAt(args_.model_dir, step);
  TakeNoted();
  std::erase(stuck_, prefix);
  std::deque<Kept> kept = kept_;
  std::erase_if(kept, [&](const Kept& one) { return one.prefix == prefix; });
  if (!resume.cut) kept.push_back({prefix, 0});
  const auto max = static_cast<size_t>(args_.config.keep_checkpoint_max.value_or(0));
  std::deque<Kept> dropped;
  for (; kept.size() > std::max<size_t>(max, 1); kept.pop_front()) dropped.push_back(kept.front());
  const double preserved_before = next_preserved_;
  std::vector<std::string> old = max > 0 ? ToRemove(dropped) : std::vector<std::string>();
  if (!extra_.empty() && extra_ != prefix) old.push_back(extra_);
  old.insert(old.end(), stuck_.begin(), stuck_.end());
  const std::string extra = resume.cut ? prefix : "";
  NoteRemoving(old, extra);
  const std::optional<IncrementBase> base = BaseFor(prefix, resume);
  try {
    Write(prefix, resume, base);
  } catch (const std::exception&) {
    next_preserved_ = preserved_before;
    if (!CheckpointExists(prefix)) RemoveCheckpoint(prefix);
    throw;
  }
  NoteBase(prefix, resume, base);
  if (!resume.cut) {
    kept.back().saved_at = args_.clock.WallSeconds();
    regular_step_ = step;
  }
  kept_ = std::move(kept);
  extra_ = extra;
  WriteState();
  args_.log.Info("Saving checkpoints for {} into {}.", step, base_path());
  last_step_ = step;
  Remove(old);
}

std::vector<NamedTensor> Saver::Variables(const std::optional<IncrementBase>& base) const {
  if (layout_) return layout_->Tensors(args_.variables);
  std::vector<NamedTensor> tensors =
      base ? ChangedEntries(args_.variables, *base, args_.whole_table_bytes)
           : TableEntries(args_.variables, args_.whole_table_bytes);
  std::set<std::string> by_rows;
  for (const auto& [weights, table] : args_.variables.tables().noted()) {
    if (base) by_rows.insert(table.variables.begin(), table.variables.end());
  }
  for (const auto& variable : args_.graph.variables()) {
    if (variable->local || by_rows.contains(variable->name)) continue;
    if (args_.variables.tables().Find(variable->name) != nullptr) continue;
    tensors.push_back({variable->name, args_.variables.Get(variable->name)});
  }
  std::vector<std::string> large = LargeEntries(args_.graph, args_.whole_table_bytes);
  for (std::string& name : SeenNames(args_.variables)) large.push_back(std::move(name));
  if (!base) {
    for (NamedTensor& entry : SeenEntries(args_.variables)) tensors.push_back(std::move(entry));
  }
  if (!large.empty()) {
    tensors.push_back({kTablesEntry, Tensor::Strings({static_cast<int64_t>(large.size())}, large)});
  }
  return tensors;
}

void Saver::Write(const std::string& prefix, const ResumePoint& resume,
                  const std::optional<IncrementBase>& base) {
  std::vector<NamedTensor> tensors = Variables(base);
  for (NamedTensor& entry : ResumeEntries(resume)) tensors.push_back(std::move(entry));
  if (meta_graph_.valid())
    WriteFileAtomically(MetaGraphPath(prefix), meta_graph_.get(), args_.fsync);
  WriteBundle(
      prefix, std::move(tensors),
      {.fsync = args_.fsync, .shard_bytes = args_.shard_bytes, .elsewhere = args_.elsewhere});
  if (AbilitiesOf(args_.model_dir).is_mounted) ReadBack(prefix);
}

CheckpointState Saver::State() const {
  CheckpointState state;
  for (const Kept& kept : kept_) state.all_model_checkpoint_paths.push_back(kept.prefix);
  if (!extra_.empty()) state.all_model_checkpoint_paths.push_back(extra_);
  state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
  return state;
}

void Saver::WriteState() const {
  WriteCheckpointState(args_.model_dir, State(), kCheckpointState, args_.fsync);
}

// Keeps the best checkpoints, and one per keep_checkpoint_every_n_hours.
std::vector<std::string> Saver::ToRemove(const std::deque<Kept>& old) {
  std::vector<std::string> prefixes;
  for (const Kept& kept : old) {
    if (args_.config.keep_best && IsKeptAsBest(args_.model_dir, kept.prefix)) continue;
    if (kept.saved_at > next_preserved_) {
      next_preserved_ += args_.config.keep_checkpoint_every_n_hours * kSecondsPerHour;
    } else {
      prefixes.push_back(kept.prefix);
    }
  }
  return prefixes;
}

// Takes over the names that others noted: checkpoints that are no longer among the best.
void Saver::TakeNoted() {
  for (const std::string& prefix : NotedCheckpoints(args_.model_dir)) {
    const auto is_it = [&](const Kept& kept) { return kept.prefix == prefix; };
    const bool is_kept = std::any_of(kept_.begin(), kept_.end(), is_it) || prefix == extra_;
    const bool is_known = std::find(stuck_.begin(), stuck_.end(), prefix) != stuck_.end();
    if (!is_kept && !is_known) stuck_.push_back(prefix);
  }
}

void Saver::NoteRemoving(std::vector<std::string> prefixes, const std::string& extra) const {
  if (!extra.empty()) prefixes.push_back(extra);
  if (prefixes.empty()) {
    RemoveFile(RemovingPath(args_.model_dir));
    return;
  }
  std::string lines;
  for (const std::string& prefix : prefixes) lines += BaseName(prefix) + "\n";
  WriteFileAtomically(RemovingPath(args_.model_dir), lines, /*fsync=*/false);
}

// Checkpoints that cannot be removed, that a later one is based on, or that are preemption
// checkpoints stay noted for the next save or the next start.
void Saver::Remove(std::vector<std::string> prefixes) {
  stuck_.clear();
  std::stable_sort(prefixes.begin(), prefixes.end(),
                   [](const std::string& a, const std::string& b) {
                     return StepOfCheckpoint(a).value_or(0) > StepOfCheckpoint(b).value_or(0);
                   });
  for (const std::string& prefix : prefixes) {
    if (!RemoveUnlessNeeded(prefix)) stuck_.push_back(prefix);
  }
  if (stuck_.size() < prefixes.size()) NoteRemoving(stuck_, extra_);
}

}  // namespace tpuest
