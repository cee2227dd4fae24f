#include "core/estimator/model_dir/best_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/contract/metric_order.h"
#include "core/estimator/model_dir/evaluations.h"
#include "core/estimator/model_dir/leftovers.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {
namespace {

bool Holds(const std::vector<std::string>& prefixes, const std::string& prefix) {
  return std::find(prefixes.begin(), prefixes.end(), prefix) != prefixes.end();
}

// Reads the file if it has the form that WriteBest writes: checkpoints of this folder, whose last
// is also the newest.
std::optional<CheckpointState> ReadBest(const std::string& model_dir) {
  std::optional<CheckpointState> state = ReadableState(model_dir, kBestState);
  if (!state) return std::nullopt;
  const auto& all = state->all_model_checkpoint_paths;
  const auto is_name = [&](const std::string& prefix) {
    const std::optional<int64_t> step = StepOfCheckpoint(prefix);
    return step && prefix == CheckpointAt(model_dir, *step);
  };
  const bool is_whole = !all.empty() && all.back() == state->model_checkpoint_path &&
                        std::all_of(all.begin(), all.end(), is_name);
  return is_whole ? state : std::nullopt;
}

std::vector<std::string> BestOf(const std::string& model_dir) {
  const auto state = ReadBest(model_dir);
  return state ? state->all_model_checkpoint_paths : std::vector<std::string>();
}

bool IsDamaged(const std::string& model_dir) {
  return FileExists(JoinPath(model_dir, kBestState)) && !ReadBest(model_dir);
}

std::vector<std::string> NamesOf(const std::vector<std::string>& prefixes) {
  std::vector<std::string> names;
  for (const std::string& prefix : prefixes) names.push_back(BaseName(prefix));
  return names;
}

// `prefixes` begin with the worst, so that the best is where "checkpoint" has the newest.
void WriteBest(const std::string& model_dir, const std::vector<std::string>& prefixes, bool fsync) {
  if (prefixes.empty()) {
    RemoveFile(JoinPath(model_dir, kBestState));
    return;
  }
  WriteCheckpointState(
      model_dir, {.model_checkpoint_path = prefixes.back(), .all_model_checkpoint_paths = prefixes},
      kBestState, fsync);
}

}  // namespace

// The best checkpoints of all evaluations are on disk, so the file is written again with their
// metrics. Until it is complete the damaged file stays, and the next start writes it again.
void BestCheckpoints::Mend(int64_t step, Log& log) {
  if (!IsDamaged(model_dir_)) return;
  std::vector<Kept> all;
  for (const auto& [at, prefix] : CheckpointsIn(model_dir_)) {
    if (at > step) break;
    const float value = ValueOf(prefix, at);
    if (!std::isnan(value)) all.push_back({prefix, at, value});
  }
  (void)TakeDropped(all);
  const std::vector<std::string> best = PrefixesOf(all);
  WriteBest(model_dir_, best, fsync_);
  log.Warning("{}: is damaged; rebuilt it from the evaluations: it names {}",
              JoinPath(model_dir_, kBestState), best.empty() ? "none" : Join(NamesOf(best), ", "));
}

void BestCheckpoints::Offer(const std::string& prefix, int64_t step, float value) {
  std::vector<Kept> all = {{prefix, step, value}};
  for (const std::string& kept : BestOf(model_dir_)) {
    const std::optional<int64_t> at = StepOfCheckpoint(kept);
    if (kept == prefix || !at) continue;
    all.push_back({kept, *at, ValueOf(kept, *at)});
  }
  const std::vector<Kept> dropped = TakeDropped(all);
  // The file names them until they are gone, so that a run that is killed here finds them again.
  if (!dropped.empty()) {
    std::vector<Kept> ranked = dropped;
    ranked.insert(ranked.end(), all.begin(), all.end());
    WriteBest(model_dir_, PrefixesOf(ranked), fsync_);
  }
  const auto state = ReadableState(model_dir_);
  for (const Kept& gone : removes_ ? dropped : std::vector<Kept>()) {
    if (state && Holds(state->all_model_checkpoint_paths, gone.prefix)) continue;
    if (!RemoveUnlessNeeded(gone.prefix)) NoteStuck(model_dir_, gone.prefix);
  }
  WriteBest(model_dir_, PrefixesOf(all), fsync_);
}

// If two values are equal, the older checkpoint counts as better.
std::vector<BestCheckpoints::Kept> BestCheckpoints::TakeDropped(std::vector<Kept>& all) {
  const MetricOrder order{options_.metric, options_.mode};
  std::sort(all.begin(), all.end(), [&](const Kept& a, const Kept& b) {
    if (order.Better(a.value, b.value)) return false;
    if (order.Better(b.value, a.value)) return true;
    return a.step > b.step;
  });
  const size_t too_many = all.size() - std::min(all.size(), static_cast<size_t>(options_.n));
  const auto first = all.begin() + static_cast<int64_t>(too_many);
  std::vector<Kept> dropped(all.begin(), first);
  all.erase(all.begin(), first);
  values_.clear();
  for (const Kept& kept : all) values_[kept.prefix] = kept.value;
  return dropped;
}

std::vector<std::string> BestCheckpoints::PrefixesOf(const std::vector<Kept>& all) {
  std::vector<std::string> prefixes;
  for (const Kept& kept : all) prefixes.push_back(kept.prefix);
  return prefixes;
}

float BestCheckpoints::ValueOf(const std::string& prefix, int64_t step) {
  const auto known = values_.find(prefix);
  if (known != values_.end()) return known->second;
  const auto metrics = EvaluationOrEventsAt(model_dir_, label_, step);
  const auto found = metrics.find(options_.metric);
  return found == metrics.end() ? std::numeric_limits<float>::quiet_NaN() : found->second;
}

void BestCheckpoints::ForgetAfter(int64_t step) {
  std::vector<std::string> prefixes = BestOf(model_dir_);
  const size_t before = prefixes.size();
  std::erase_if(prefixes, [&](const std::string& prefix) {
    return StepOfCheckpoint(prefix).value_or(step + 1) > step;
  });
  if (prefixes.size() != before) WriteBest(model_dir_, prefixes, fsync_);
}

bool IsKeptAsBest(const std::string& model_dir, const std::string& prefix) {
  if (IsDamaged(model_dir)) return true;
  return Holds(BestOf(model_dir), prefix);
}

std::string BestCheckpoint(const std::string& model_dir) {
  const std::vector<std::string> prefixes = BestOf(model_dir);
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
    if (CheckpointExists(*prefix)) return *prefix;
  }
  if (IsDamaged(model_dir)) {
    throw Error(Code::kCheckpoint, fmt::format("{}: is damaged", JoinPath(model_dir, kBestState)),
                "train-and-evaluate rebuilds it when it resumes; or name a step");
  }
  throw Error(Code::kCheckpoint, fmt::format("{}: no checkpoint was kept as the best", model_dir),
              "set run_config: {keep_best: {metric: accuracy, mode: max}} for train-and-evaluate");
}

}  // namespace tpuest
