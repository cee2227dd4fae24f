#pragma once
// Writes a run's checkpoints: model.ckpt-N, then the state file "checkpoint", and removes old ones
// as tf.compat.v1.train.Saver does. The thread that trains uses it.

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
  // The training's, for the MetaGraph's collections.
  const Node* train_op = nullptr;
  Value loss;
  GraphSummaries summaries;
  Log& log;
  const Clock& clock;
  bool fsync = true;
  int64_t whole_table_bytes = EmbeddingsOptions().whole_table_bytes;
  int64_t shard_bytes = EmbeddingsOptions().shard_bytes;
  int64_t incremental = 1;  // every so-manieth checkpoint is whole, the others are increments
  WriteElsewhereFn elsewhere = nullptr;  // of data shards; none: all are written here
};

class Saver {
 public:
  // `restored`: the checkpoint that the run goes on from, or ""; `cut`: what it holds if it is an
  // extra. Checkpoints of the state file past it are no longer believed.
  Saver(const SaverArgs& args, const std::string& restored, const std::optional<CutRun>& cut = {});

  // Writes model.ckpt-<step>, all or nothing: the variables, and where the run stands beside them.
  // One whose `resume` says that the run was cut is an extra: it is not counted, and it is gone
  // with the next one. Throws what the files throw; the older checkpoints are then as they were.
  void Save(int64_t step, const ResumePoint& resume);
  // Whether Save(step, resume) would write what is there: an extra counts for another extra alone.
  [[nodiscard]] bool HasSaved(int64_t step, const ResumePoint& resume) const;
  // Step and prefix of the newest checkpoint; nullopt and "" before there is one.
  [[nodiscard]] std::optional<int64_t> last_step() const { return last_step_; }
  [[nodiscard]] std::string last_prefix() const;
  // Step and prefix of the newest checkpoint that is no extra.
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
  // What a checkpoint stands on; nullopt: it is whole.
  [[nodiscard]] std::optional<IncrementBase> BaseFor(const std::string& prefix,
                                                     const ResumePoint& resume) const;
  // It was written.
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
  std::vector<std::string> stuck_;              // prefixes that are to go and are still there
  std::string extra_;                           // prefix; newer than all that are kept
  std::optional<IncrementBase> base_;           // the newest whole one; place: of the newest on it
  double next_preserved_ = 0;  // a checkpoint saved later than this is never removed
  std::optional<int64_t> last_step_;
  std::optional<int64_t> regular_step_;
};

}  // namespace tpuest
