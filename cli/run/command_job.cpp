#include "cli/run/command_job.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/job_check.h"
#include "cli/job/fold.h"
#include "cli/job/job.h"
#include "cli/job/outside_code.h"
#include "cli/run/record/folder.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

// Returns the folder of the run that the invocation names: with a run the job is optional.
std::optional<std::string> NamedRun(const Invocation& invocation) {
  const std::optional<std::string>& checkpoint = invocation.checkpoint;
  if (checkpoint && *checkpoint != kAllCheckpoints && !IsNameInRun(*checkpoint)) {
    return ModelDirOf(*checkpoint);
  }
  return invocation.model_dir;
}

std::string JobPath(const Invocation& invocation) {
  if (invocation.job) return *invocation.job;
  const std::string command = invocation.command;
  const auto run = NamedRun(invocation);
  if (!run) {
    throw Error(
        Code::kUsage, fmt::format("'{}' needs a job file", command),
        fmt::format("tpuest {} job.yaml, or --model-dir or --checkpoint of a run", command));
  }
  const bool names_nothing = !DirectoryExists(*run) || (run != invocation.model_dir &&
                                                        !DirectoryExists(*invocation.checkpoint) &&
                                                        !FindCheckpoint(*invocation.checkpoint));
  if (names_nothing) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: there is no such checkpoint or model_dir",
                            run == invocation.model_dir ? *run : *invocation.checkpoint));
  }
  if (!FileExists(ResolvedJobPath(*run))) {
    throw Error(Code::kUsage,
                fmt::format("{}: is not a run ({} is missing)", *run, ResolvedJobPath(*run)),
                fmt::format("name the job file: tpuest {} job.yaml --checkpoint ...", command));
  }
  return ResolvedJobPath(*run);
}

std::vector<config::Override> OverridesOf(const Invocation& invocation) {
  std::vector<config::Override> overrides;
  // A run that was moved is read at its present path, not at the path in its job.
  if (!invocation.job && !invocation.model_dir) {
    if (const auto run = NamedRun(invocation)) {
      overrides.push_back({"run_config.model_dir=" + *run, "--checkpoint"});
    }
  }
  for (const std::string& text : invocation.overrides) overrides.push_back({text});
  if (invocation.fold) {
    const data::FoldOptions fold = ParseFold(*invocation.fold);
    overrides.push_back(
        {fmt::format("tpuest.fold={{index: {}, count: {}}}", fold.index, fold.count), "--fold"});
  }
  if (invocation.model_dir) {
    overrides.push_back({"run_config.model_dir=" + *invocation.model_dir, "--model-dir"});
  }
  if (invocation.threads) {
    overrides.push_back({fmt::format("run_config.session_config.intra_op_parallelism_threads={}",
                                     *invocation.threads),
                         "--threads"});
  }
  for (const KeyFlag& given : invocation.key_flags) {
    overrides.push_back({given.key + "=" + given.value, given.flag});
  }
  return overrides;
}

// Returns true for a word that can be a key of a job: letters, digits, '_', '.'.
bool IsKeyLike(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
}

// Joins an override that the shell has split at its spaces: "optimizer={type: Adam}". Empty if the
// words are no such override.
std::string CutOverride(const Invocation& invocation) {
  for (const std::string& text : invocation.overrides) {
    const auto open = [](std::string_view part) {
      return std::count(part.begin(), part.end(), '{') + std::count(part.begin(), part.end(), '[') -
             std::count(part.begin(), part.end(), '}') - std::count(part.begin(), part.end(), ']');
    };
    if (open(text) <= 0) continue;
    std::string whole = text;
    for (const std::string& word : invocation.arguments) {
      if (open(whole) > 0) whole += " " + word;
    }
    if (open(whole) == 0) return whole;
  }
  return "";
}

// Returns the hint for words that are neither a job file nor KEY=VALUE.
std::string WordHint(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments;
  const std::string& first = words[0];
  if (DirectoryExists(first)) {
    return fmt::format("to name a run's folder: tpuest {} --model-dir {}", invocation.command,
                       first);
  }
  if (const std::string whole = CutOverride(invocation); !whole.empty()) {
    return fmt::format("the shell splits a value at its spaces unless it is quoted: '{}'", whole);
  }
  if (FileExists(first + ".yaml")) return fmt::format("did you mean '{}.yaml'?", first);
  if (IsKeyLike(first) && words.size() > 1) {
    return fmt::format("write a key and its value as one word: {}={}", first, words[1]);
  }
  return "job files end in .yaml";
}

}  // namespace

void CheckNoArguments(const Invocation& invocation) {
  if (invocation.arguments.empty()) return;
  const std::string& first = invocation.arguments[0];
  if (invocation.job && IsJobFile(first)) {
    throw Error(Code::kUsage, fmt::format("two job files: {} and {}", *invocation.job, first),
                "a command takes one job file");
  }
  throw Error(Code::kUsage, fmt::format("'{}' is no job file and no KEY=VALUE", first),
              WordHint(invocation));
}

LoadedJob LoadInvocationJob(const Invocation& invocation, config::Sources& sources) {
  CheckNoArguments(invocation);
  LoadedJob loaded =
      LoadJobFile(JobPath(invocation), {invocation.set_files, OverridesOf(invocation)}, sources);
  std::optional<std::string>& model_dir = loaded.job.estimator.run_config.model_dir;
  if (invocation.fold && model_dir) {
    const std::string folder = FoldFolder(*loaded.job.tpuest.fold);
    std::string given = *model_dir;
    while (EndsWith(given, "/")) given.pop_back();
    // A path to the fold's own run already ends in the fold's folder.
    if (BaseName(given) != folder) {
      model_dir = JoinPath(*model_dir, folder);
      std::optional<std::string>& mirror = loaded.job.estimator.run_config.mirror;
      if (mirror) mirror = JoinPath(*mirror, folder);
    }
  }
  std::vector<Fault> faults = ValidateJob(loaded.job);
  if (invocation.no_commands) {
    std::vector<Fault> refused = OutsideCodeOf(loaded.job);
    std::move(refused.begin(), refused.end(), std::back_inserter(faults));
  }
  if (!faults.empty()) throw Error(Code::kUsage, std::move(faults));
  return loaded;
}

}  // namespace tpuest::cli
