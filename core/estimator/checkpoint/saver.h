#pragma once
// Writes a run's checkpoints: model.ckpt-N, then the state file "checkpoint", and removes old ones
// as tf.compat.v1.train.Saver does. Used by the training thread.

#include <deque>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/checkpoint/objects/object_layout.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/options/options.h"
#include "core/graph/write/summary_nodes.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/increment.h"

namespace tpuest {

// The references outlive the Saver; the graph does not change.
struct SaverArgs {
  std::string model_dir;
  const RunConfig& config;
  const Graph& graph;
  VariableStore& variables;
  // That of the training, for the MetaGraph's collections.
  const Node* train_op = nullptr;
  Value loss;
  GraphSummaries summaries;
  Log& log;
  const Clock& clock;
  bool fsync = true;
  int64_t whole_table_bytes = EmbeddingsOptions().whole_table_bytes;
  int64_t shard_bytes = EmbeddingsOptions().shard_bytes;
  int64_t incremental = 1;  // every n-th checkpoint is whole, all others are incremental
  // writes data shards elsewhere; nullptr: all are written here
  WriteElsewhereFn elsewhere = nullptr;
};

class Saver {
 public:
  // `restored`: the checkpoint that the run resumes from, or ""; `cut`: its contents if it is a
  // preemption checkpoint. Later checkpoints in the state file are ignored.
  Saver(const SaverArgs& args, const std::string& restored, const std::optional<CutRun>& cut = {});

  // Writes model.ckpt-<step> atomically: the variables, and the run's state beside them. If
  // `resume` has a cut, it is a preemption checkpoint: it is not counted, and the next save removes
  // it. Throws errors of files; older checkpoints then stay unchanged.
  void Save(int64_t step, const ResumePoint& resume);
  // Whether Save(step, resume) would write what is on disk already: a preemption checkpoint only
  // replaces another preemption checkpoint.
  [[nodiscard]] bool HasSaved(int64_t step, const ResumePoint& resume) const;
  // Step and prefix of the newest checkpoint; nullopt and "" if there is none yet.
  [[nodiscard]] std::optional<int64_t> last_step() const { return last_step_; }
  [[nodiscard]] std::string last_prefix() const;
  // Step and prefix of the newest checkpoint that is not a preemption checkpoint.
  [[nodiscard]] std::optional<int64_t> last_regular_step() const { return regular_step_; }
  [[nodiscard]] std::string last_regular_prefix() const;
  [[nodiscard]] std::string base_path() const;  // model_dir/model.ckpt

 private:
  struct Kept {
    std::string prefix;
    double saved_at = 0;  // Clock::WallSeconds
  };
  void Recover(const std::string& restored, const std::optional<CutRun>& cut);
  void RecoverBase(const std::string& restored, bool is_extra);
  // Returns the base of the next incremental checkpoint; nullopt if it must be whole.
  [[nodiscard]] std::optional<IncrementBase> BaseFor(const std::string& prefix,
                                                     const ResumePoint& resume) const;
  // Records the checkpoint that was written.
  void NoteBase(const std::string& prefix, const ResumePoint& resume,
                const std::optional<IncrementBase>& base);
  void Write(const std::string& prefix, const ResumePoint& resume,
             const std::optional<IncrementBase>& base);
  [[nodiscard]] std::vector<NamedTensor> Variables(const std::optional<IncrementBase>& base) const;
  [[nodiscard]] CheckpointState State() const;
  void WriteState() const;
  [[nodiscard]] std::vector<std::string> ToRemove(const std::deque<Kept>& old);
  void TakeNoted();
  void NoteRemoving(std::vector<std::string> prefixes, const std::string& extra) const;
  void Remove(std::vector<std::string> prefixes);

  SaverArgs args_;
  std::shared_future<std::string> meta_graph_;  // serialized once: the graph does not change
  std::optional<ObjectLayout> layout_;          // for checkpoint_format: checkpoint
  std::deque<Kept> kept_;                       // oldest first
  std::vector<std::string> stuck_;              // prefixes that could not be removed yet
  std::string extra_;  // prefix of the preemption checkpoint, newer than all in kept_
  // the newest whole checkpoint; place: the newest increment on it
  std::optional<IncrementBase> base_;
  double next_preserved_ = 0;  // a checkpoint saved after this time is never removed
  std::optional<int64_t> last_step_;
  std::optional<int64_t> regular_step_;
};

}  // namespace tpuest
