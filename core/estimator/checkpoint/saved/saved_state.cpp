#include "core/estimator/checkpoint/saved/saved_state.h"

#include <algorithm>

#include "core/base/process/files.h"
#include "core/estimator/checkpoint/objects/object_variables.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/leftovers.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

constexpr const char* kSeed = "tpuest/seed";
constexpr const char* kSeedRule = "tpuest/seed_rule";
constexpr const char* kPosition = "tpuest/stream_position";
constexpr const char* kLooks = "tpuest/looks";
constexpr const char* kConditions = "tpuest/conditions";

// Returns the int64s of an entry, or nullptr if there is none of that size.
const int64_t* Find(const std::map<std::string, Tensor>& tensors, const char* name,
                    int64_t elements) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return nullptr;
  const Tensor& tensor = found->second;
  if (tensor.dtype() != DType::kInt64 || tensor.elements() != elements) return nullptr;
  return tensor.data<int64_t>();
}

int64_t GlobalStepOf(const SavedState& saved) {
  const auto found = saved.tensors.find(std::string(nn::kGlobalStepName));
  if (found == saved.tensors.end() || found->second.elements() != 1) return 0;
  return static_cast<int64_t>(found->second.AsDouble(0));
}

// Puts the step counter of an object-based checkpoint under its name.
void NameGlobalStep(SavedState& saved) {
  const std::optional<int> node = FindGlobalStep(*saved.objects);
  if (!node) return;
  const auto found = saved.tensors.find(saved.objects->at(*node).key);
  if (found == saved.tensors.end() || found->second.elements() != 1) return;
  const Tensor& step = found->second;
  if (step.dtype() != DType::kInt64 && step.dtype() != DType::kInt32) return;
  saved.tensors[std::string(nn::kGlobalStepName)] = step.Cast(DType::kInt64).Reshaped(Shape());
}

// The prefixes that the state file names, the newest first, each once.
std::vector<std::string> Candidates(const CheckpointState& state) {
  std::vector<std::string> prefixes;
  if (!state.model_checkpoint_path.empty()) prefixes.push_back(state.model_checkpoint_path);
  const auto& all = state.all_model_checkpoint_paths;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    if (std::find(prefixes.begin(), prefixes.end(), *at) == prefixes.end()) prefixes.push_back(*at);
  }
  return prefixes;
}

SavedState LoadPrefix(const std::string& prefix) {
  SavedState saved{.prefix = prefix};
  saved.on_disk = std::make_shared<const BundleReader>(prefix);
  const BundleReader& reader = *saved.on_disk;
  saved.left = LeftEntries(reader);
  for (const std::string& name : reader.Names()) {
    if (reader.DTypeOf(name) == DType::kInvalid) continue;  // no variable has such a dtype
    if (saved.left.contains(name)) {
      reader.ReadPieces(name, [](std::string_view) {});  // verifies the checksum
      continue;
    }
    saved.tensors[name] = reader.Read(name);
  }
  saved.objects = ReadObjectGraph(reader);
  if (saved.objects) NameGlobalStep(saved);
  saved.global_step = GlobalStepOf(saved);
  saved.resume = ReadResumePoint(saved.tensors);
  return saved;
}

// The contents of the state file, read once, and its existing checkpoints, the newest first.
struct Named {
  CheckpointState state;
  std::vector<std::string> prefixes;
  std::string fault;      // what is wrong with the file; empty if nothing is
  bool is_there = false;  // the file exists
};

Named ReadNamed(const std::string& model_dir) {
  const std::string path = CheckpointStatePath(model_dir);
  std::optional<CheckpointState> state;
  try {
    state = ReadCheckpointState(model_dir);
  } catch (const Error& error) {
    if (error.code() != Code::kCheckpoint) throw;
    return {.fault = fmt::format("{}: {}", path, error.message()), .is_there = true};
  }
  if (!state) return {.fault = fmt::format("{}: is missing", path)};
  if (state->model_checkpoint_path.empty()) {
    return {.fault = fmt::format("{}: names no checkpoint", path), .is_there = true};
  }
  Named named{.state = *state, .prefixes = Candidates(*state), .is_there = true};
  const std::string newest = named.prefixes.front();
  std::erase_if(named.prefixes,
                [](const std::string& prefix) { return !CheckpointExists(prefix); });
  if (named.prefixes.empty()) {
    named.fault =
        fmt::format("{}: names {}, but none of the checkpoints that it names exists", path, newest);
  }
  return named;
}

// Every checkpoint from which a run may resume, the newest first: those of the state file, then
// older ones of the folder. If the state file is unusable, all checkpoints of the folder.
std::vector<std::string> AllCandidates(const std::string& model_dir, const Named& named) {
  std::vector<std::string> all = named.prefixes;
  const std::map<int64_t, std::string> there = CheckpointsIn(model_dir);
  for (auto at = there.rbegin(); at != there.rend(); ++at) {
    const bool is_newer = !named.prefixes.empty() &&
                          at->first > StepOfCheckpoint(named.prefixes.front()).value_or(at->first);
    if (is_newer || std::find(all.begin(), all.end(), at->second) != all.end()) continue;
    all.push_back(at->second);
  }
  return all;
}

// Warns if the state file names an older checkpoint as the newest: TensorFlow returns to an older
// one in this way, but a single wrong bit has the same effect.
void WarnOfOlder(const std::string& model_dir, const CheckpointState& state,
                 const std::string& taken, Log& log) {
  const std::vector<std::string>& all = state.all_model_checkpoint_paths;
  if (all.empty() || StepOfCheckpoint(all.back()) <= StepOfCheckpoint(taken)) return;
  if (!CheckpointExists(all.back())) return;
  log.Warning("{}: names {} as the newest, but lists {} after it; using {}",
              CheckpointStatePath(model_dir), taken, BaseName(all.back()), taken);
}

// Throws the Error of a newest checkpoint that cannot be read, and suggests the previous one.
[[noreturn]] void ThrowNotNewest(std::string message, const std::string& before) {
  throw Error(Code::kCheckpoint, std::move(message),
              fmt::format("--allow-older uses the one before it, {}", before));
}

// Warns if the newest checkpoint that the state file names does not exist, and refuses as `older`
// says.
void WarnOfLostNewest(const std::string& model_dir, const CheckpointState& state,
                      const std::string& taken, Log& log, OlderCheckpoint older) {
  const std::string& newest = state.model_checkpoint_path;
  if (taken == newest) return WarnOfOlder(model_dir, state, taken, log);
  const std::string lost = fmt::format("{}: is missing, but {} names it", BundleIndexPath(newest),
                                       CheckpointStatePath(model_dir));
  if (older == OlderCheckpoint::kRefuse) ThrowNotNewest(lost, taken);
  log.Warning("{}; {} is taken", lost, taken);
}

[[noreturn]] void ThrowNoneThere(const std::string& model_dir, const std::string& fault) {
  throw Error(Code::kCheckpoint, fault,
              fmt::format("restore the files, or remove {} to start again",
                          CheckpointStatePath(model_dir)));
}

// Throws the Error of the last of `count` checkpoints if none can be read.
[[noreturn]] void ThrowUnreadable(const std::string& model_dir, size_t count, const Error& last) {
  std::vector<Fault> faults = last.faults();
  if (count > 1) {
    faults.front().message += fmt::format("; none of the {} checkpoints can be read", count);
  }
  if (faults.front().hint.empty()) {
    faults.front().hint = fmt::format(
        "restore the files, or name another model_dir: a run in {} would start again and overwrite "
        "them",
        model_dir);
  }
  throw Error(last.code(), std::move(faults));
}

}  // namespace

std::set<std::string> LeftEntries(const BundleReader& reader) {
  if (!reader.Has(kTablesEntry) || reader.DTypeOf(kTablesEntry) != DType::kString) return {};
  const Tensor names = reader.Read(kTablesEntry);
  std::set<std::string> left;
  for (const std::string_view name : names.strings()) {
    if (reader.Has(name) && SizeOf(reader.DTypeOf(name)) > 0) left.emplace(name);
  }
  return left;
}

std::vector<NamedTensor> ResumeEntries(const ResumePoint& point) {
  std::vector<NamedTensor> entries;
  if (point.seed) {
    entries.push_back({kSeed, Tensor::Scalar<int64_t>(static_cast<int64_t>(*point.seed))});
    if (!point.seeds_by_name) entries.push_back({kSeedRule, Tensor::Scalar<int64_t>(2)});
  }
  entries.push_back(
      {kPosition, Tensor::Of<int64_t>({2}, {point.position.epoch, point.position.records})});
  if (point.goal) {
    entries.push_back(
        {kGoalEntry, Tensor::Of<int64_t>({2}, {point.goal->step, point.goal->steps})});
  }
  if (point.cut) {
    entries.push_back(
        {kCutEntry, Tensor::Of<int64_t>({2}, {point.cut->saved, point.cut->loop_begin})});
  }
  if (!point.looks.empty()) {
    Tensor looks(DType::kInt64, {static_cast<int64_t>(point.looks.size())});
    std::copy(point.looks.begin(), point.looks.end(), looks.data<int64_t>());
    entries.push_back({kLooks, std::move(looks)});
  }
  if (!point.conditions.empty()) {
    Tensor numbers(DType::kDouble, {static_cast<int64_t>(point.conditions.size())});
    std::copy(point.conditions.begin(), point.conditions.end(), numbers.data<double>());
    entries.push_back({kConditions, std::move(numbers)});
  }
  return entries;
}

ResumePoint ReadResumePoint(const std::map<std::string, Tensor>& tensors) {
  ResumePoint point;
  if (const int64_t* const seed = Find(tensors, kSeed, 1)) {
    point.seed = static_cast<uint64_t>(*seed);
    point.seeds_by_name = Find(tensors, kSeedRule, 1) == nullptr;
  }
  if (const int64_t* const at = Find(tensors, kPosition, 2)) {
    point.position = {.epoch = at[0], .records = at[1]};
  }
  if (const int64_t* const goal = Find(tensors, kGoalEntry, 2)) {
    point.goal = Goal{.step = goal[0], .steps = goal[1]};
  }
  if (const int64_t* const cut = Find(tensors, kCutEntry, 2)) {
    point.cut = CutRun{.saved = cut[0], .loop_begin = cut[1]};
  }
  const auto looks = tensors.find(kLooks);
  if (looks != tensors.end() && looks->second.dtype() == DType::kInt64) {
    const int64_t* const steps = looks->second.data<int64_t>();
    point.looks.assign(steps, steps + looks->second.elements());
  }
  const auto conditions = tensors.find(kConditions);
  if (conditions != tensors.end() && conditions->second.dtype() == DType::kDouble) {
    const double* const numbers = conditions->second.data<double>();
    point.conditions.assign(numbers, numbers + conditions->second.elements());
  }
  return point;
}

bool SeedsByName(const std::string& prefix) {
  try {
    const BundleReader reader(prefix);
    return reader.Has(kSeed) && !reader.Has(kSeedRule);
  } catch (const Error&) {
    return false;  // the reader of the checkpoint reports damage
  }
}

std::optional<std::string> LatestRegularCheckpoint(const std::string& model_dir) {
  const std::optional<LatestNamed> latest = ReadLatest(model_dir);
  if (!latest) return std::nullopt;
  if (!IsExtra(latest->prefix)) return latest->prefix;
  const std::vector<std::string> others = Candidates(latest->state);
  const auto found = std::find_if(others.begin(), others.end(), [&](const std::string& prefix) {
    return prefix != latest->prefix && CheckpointExists(prefix);
  });
  return found == others.end() ? std::nullopt : std::optional(*found);
}

RegularCheckpoint NewestRegularCheckpoint(const std::string& model_dir) {
  const std::string fault = ReadNamed(model_dir).fault;
  if (fault.empty()) return {.prefix = LatestRegularCheckpoint(model_dir), .fault = ""};
  const std::map<int64_t, std::string> there = CheckpointsIn(model_dir);
  const auto found = std::find_if(there.rbegin(), there.rend(),
                                  [](const auto& at) { return !IsExtra(at.second); });
  if (found == there.rend()) return {};
  return {.prefix = found->second, .fault = fault};
}

SavedState LoadCheckpoint(const std::string& path) { return LoadPrefix(ResolveCheckpoint(path)); }

std::optional<std::string> DamageOf(const std::string& prefix) {
  try {
    (void)LoadPrefix(prefix);
  } catch (const Error& error) {
    if (error.code() != Code::kCheckpoint) throw;
    return error.message();
  }
  return std::nullopt;
}

namespace {

// Reads the folder once. If a trainer has rewritten the state file meanwhile, sets `changed`
// instead of trying an older checkpoint: the named checkpoint is gone because a newer one exists.
std::optional<SavedState> TryLoadNewest(const std::string& model_dir, Log& log,
                                        OlderCheckpoint older, bool& changed) {
  const std::string before = CheckpointStateText(model_dir);
  const auto has_changed = [&] { return changed = CheckpointStateText(model_dir) != before; };
  const Named named = ReadNamed(model_dir);
  const std::vector<std::string> candidates = AllCandidates(model_dir, named);
  if (has_changed()) return std::nullopt;
  if (candidates.empty()) {
    if (named.is_there) ThrowNoneThere(model_dir, named.fault);
    return std::nullopt;
  }
  if (named.fault.empty()) WarnOfLostNewest(model_dir, named.state, candidates.front(), log, older);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string& prefix = candidates[i];
    try {
      SavedState saved = LoadPrefix(prefix);
      if (!named.fault.empty()) {
        log.Warning("{}; using {}, the newest checkpoint there", named.fault, prefix);
      }
      return saved;
    } catch (const Error& error) {
      if (error.code() == Code::kResource) throw;
      if (has_changed()) return std::nullopt;
      if (i + 1 == candidates.size()) ThrowUnreadable(model_dir, candidates.size(), error);
      if (older == OlderCheckpoint::kRefuse) {
        const auto readable =
            std::find_if(candidates.begin() + static_cast<std::ptrdiff_t>(i) + 1, candidates.end(),
                         [](const std::string& other) { return !DamageOf(other); });
        if (readable == candidates.end()) ThrowUnreadable(model_dir, candidates.size(), error);
        ThrowNotNewest(error.message(), *readable);
      }
      log.Warning("{}; trying the checkpoint before it: {}", error.message(), candidates[i + 1]);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SavedState> LoadNewest(const std::string& model_dir, Log& log,
                                     OlderCheckpoint older) {
  while (true) {
    bool changed = false;
    std::optional<SavedState> saved = TryLoadNewest(model_dir, log, older, changed);
    if (!changed) return saved;
  }
}

}  // namespace tpuest
