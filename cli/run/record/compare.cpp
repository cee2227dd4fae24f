#include "cli/run/record/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/job/job.h"
#include "cli/run/record/checkpoint_fingerprint.h"
#include "cli/run/record/folder.h"
#include "cli/run/record/json.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest::cli {
namespace {

// Keys of run.json that can make runs of the same job differ.
constexpr std::array kProgramKeys = {"version", "commit", "device", "cpu", "input"};

std::map<std::string, std::string> ReadProgram(const std::string& model_dir) {
  std::map<std::string, std::string> program;
  const Json run = ReadRunJson(model_dir).value_or(Json::object());
  for (const char* const key : kProgramKeys) {
    if (run.contains(key) && run[key].is_string()) program[key] = run[key].get<std::string>();
  }
  return program;
}

// Returns the paths at which some run differs from the first, in the order of the job.
std::vector<std::string> DifferentPaths(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> paths;
  for (size_t i = 1; i < runs.size(); ++i) {
    for (const config::Difference& each : config::DifferencesOf(runs[0].keys, runs[i].keys)) {
      if (std::find(paths.begin(), paths.end(), each.path) == paths.end()) {
        paths.push_back(each.path);
      }
    }
  }
  return paths;
}

// Returns true for a path outside input_fns, and for one at or below the input_fn that the run
// trains on.
bool ReachesTraining(std::string_view path, const ComparedRun& run) {
  constexpr std::string_view kInputs = "input_fns.";
  if (!path.starts_with(kInputs)) return true;
  path.remove_prefix(kInputs.size());
  if (!path.starts_with(run.train_input)) return false;
  path.remove_prefix(run.train_input.size());
  return path.empty() || path.front() == '.' || path.front() == '[';
}

// Returns true if a key can have made the trained parameters of the runs differ.
bool CanChangeBits(const std::string& path, const std::vector<ComparedRun>& runs) {
  const auto says_so = [&](const ComparedRun& run) {
    const config::FlatValue* const value = config::FindValue(run.keys, path);
    return value != nullptr && value->changes_bits;
  };
  const auto reaches = [&](const ComparedRun& run) { return ReachesTraining(path, run); };
  return std::ranges::any_of(runs, says_so) && std::ranges::any_of(runs, reaches);
}

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void CompareLosses(const ComparedRun& a, const ComparedRun& b, Parting& parting) {
  const Series* const ours = a.series.Find("train/loss");
  const Series* const theirs = b.series.Find("train/loss");
  if (ours == nullptr || theirs == nullptr) return;
  auto other = theirs->points.begin();
  for (const SeriesPoint& point : ours->points) {
    while (other != theirs->points.end() && other->step < point.step) ++other;
    if (other == theirs->points.end()) return;
    if (other->step != point.step) continue;
    ++parting.common_losses;
    const bool is_first = !parting.losses && !Same(point.value, other->value);
    if (is_first) parting.losses = {point.step, point.value, other->value};
  }
}

void CompareParameters(const ComparedRun& a, const ComparedRun& b, Parting& parting) {
  for (const auto& [step, prefix] : a.checkpoints) {
    const auto other = b.checkpoints.find(step);
    if (other == b.checkpoints.end()) continue;
    parting.common_checkpoints.push_back(step);
    if (parting.parameters) continue;
    const Fingerprints ours = FingerprintsOf(prefix);
    std::vector<std::string> names = DifferentNames(ours, FingerprintsOf(other->second));
    if (!names.empty()) parting.parameters = {step, std::move(names), ours.size()};
  }
}

}  // namespace

ComparedRun ReadRun(const std::string& path, config::Sources& sources) {
  const std::string job_path = ResolvedJobPath(path);
  if (!FileExists(job_path)) {
    throw Error(Code::kUsage, fmt::format("{}: is not a run ({} is missing)", path, job_path),
                "name the model_dir of a run");
  }
  const Job job = LoadJobFile(job_path, {}, sources).job;
  ComparedRun run;
  run.path = path;
  run.keys = FlatJob(job);
  std::erase_if(run.keys, [](const auto& key) { return key.path == "run_config.model_dir"; });
  if (job.train_spec) run.train_input = job.train_spec->input_fn;
  run.program = ReadProgram(path);
  run.series = ReadRunSeries(path);
  run.checkpoints = CheckpointsIn(path);
  return run;
}

std::vector<KeyDifference> KeyDifferences(const std::vector<ComparedRun>& runs) {
  std::vector<KeyDifference> differences;
  for (const std::string& path : DifferentPaths(runs)) {
    KeyDifference difference{
        .path = path, .values = {}, .can_change_bits = CanChangeBits(path, runs)};
    for (const ComparedRun& run : runs) {
      difference.values.push_back(config::FindText(run.keys, path));
    }
    differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<KeyDifference> ProgramDifferences(const std::vector<ComparedRun>& runs) {
  std::vector<KeyDifference> differences;
  for (const char* const key : kProgramKeys) {
    KeyDifference difference{.path = key, .values = {}};
    for (const ComparedRun& run : runs) {
      const auto found = run.program.find(key);
      difference.values.push_back(found == run.program.end() ? std::nullopt
                                                             : std::optional(found->second));
    }
    const bool is_same = std::all_of(difference.values.begin(), difference.values.end(),
                                     [&](const auto& v) { return v == difference.values[0]; });
    if (!is_same) differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<std::string> CandidatesOf(const std::vector<KeyDifference>& keys,
                                      const std::vector<KeyDifference>& program) {
  std::vector<std::string> candidates;
  for (const KeyDifference& key : keys) {
    if (key.can_change_bits) candidates.push_back(key.path);
  }
  for (const KeyDifference& each : program) candidates.push_back(each.path);
  return candidates;
}

std::string CandidatesText(const std::vector<std::string>& candidates) {
  if (!candidates.empty()) return Join(candidates, ", ");
  return "none found: keys, version, device, processor, and the sizes and first bytes of the input "
         "files are the same; other bytes of the input, or files of a warm start, may have changed";
}

Parting PartingOf(const ComparedRun& a, const ComparedRun& b) {
  Parting parting;
  CompareLosses(a, b, parting);
  CompareParameters(a, b, parting);
  return parting;
}

}  // namespace tpuest::cli
