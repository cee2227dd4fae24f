// tpuest verify RUN|CHECKPOINT|EXPORT: whether what a run has left is what its job gives

#include "cli/look/verify.h"

#include <algorithm>

#include "cli/look/commands.h"
#include "cli/look/inspect/export.h"
#include "cli/look/rerun.h"
#include "cli/look/verify_export.h"
#include "cli/run/record/compare.h"
#include "cli/run/record/folder.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest::cli {
namespace {

constexpr size_t kMostNames = 4;

void Declare(FlagSet& flags, VerifyInvocation& to) {
  flags.Text("--from", to.from, "STEP|PREFIX|start",
             "checkpoint to train again from; default: the previous checkpoint");
  flags.Switch("--all", to.all,
               "check every checkpoint of the run, each trained again from the previous one");
  flags.Integer("--records", to.records, 1,
                "of a SavedModel: number of records to compare; default 100");
}

// The names of tensors that only one state has, or whose bits are not the same in both.
std::vector<std::string> DifferentTensors(const SavedState& a, const SavedState& b) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : a.tensors) {
    const auto other = b.tensors.find(name);
    if (other == b.tensors.end() || !SameBits(tensor, other->second)) names.push_back(name);
  }
  for (const auto& [name, tensor] : b.tensors) {
    if (!a.tensors.contains(name)) names.push_back(name);
  }
  return names;
}

// The same of entries that stay on the disk, by their checksums.
std::vector<std::string> DifferentTables(const SavedState& a, const SavedState& b) {
  std::vector<std::string> names;
  for (const std::string& name : a.left) {
    const bool same = b.left.contains(name) &&
                      a.on_disk->ShapeOf(name) == b.on_disk->ShapeOf(name) &&
                      a.on_disk->ChecksumOf(name) == b.on_disk->ChecksumOf(name);
    if (!same) names.push_back(name);
  }
  for (const std::string& name : b.left) {
    if (!a.left.contains(name)) names.push_back(name);
  }
  return names;
}

// A checkpoint, compared with what training from another one gives at its step.
struct Verified {
  std::string path;
  std::optional<std::string> from;  // nullopt: the run's start
  int64_t start = 0;
  int64_t step = 0;
  size_t tensors = 0;
  std::vector<std::string> differ;
  size_t losses = 0;  // steps whose loss both have logged
  std::optional<LossDifference> first_loss;
  std::vector<std::string> candidates;

  [[nodiscard]] bool same() const { return differ.empty() && !first_loss; }
};

std::string FromText(const Verified& verified) {
  return verified.from ? BaseName(*verified.from) : "the run's start";
}

std::optional<std::string> ParseFrom(const VerifyInvocation& invocation, const NamedRun& run,
                                     int64_t step) {
  if (!invocation.from) return CheckpointBefore(run.model_dir, step);
  const std::string& given = *invocation.from;
  if (given == "start") return std::nullopt;
  std::optional<std::string> prefix = FindCheckpoint(given, run.model_dir);
  if (!prefix) {
    throw Error(
        Code::kCheckpoint, fmt::format("--from {}: no such checkpoint exists", given),
        fmt::format("'tpuest inspect {}' shows the newest checkpoint; --from start needs none",
                    run.model_dir));
  }
  return prefix;
}

Verified VerifyCheckpoint(const VerifyInvocation& invocation, const NamedRun& run, int64_t step,
                          const std::string& prefix, config::Sources& sources) {
  Verified verified{.path = prefix, .step = step};
  verified.from = ParseFrom(invocation, run, step);
  SavedState saved = LoadCheckpoint(prefix);  // every checksum is looked at
  // The goal of `steps` is an entry that nothing trained: another call of train may have another.
  saved.tensors.erase(std::string(kGoalEntry));
  Rerun rerun(invocation, run, verified.from, sources);
  verified.start = rerun.start();
  if (verified.start >= step) {
    throw Error(Code::kUsage,
                fmt::format("--from {}: {} is a checkpoint of step {}, which is not later",
                            *invocation.from, prefix, step));
  }
  const int64_t reached = rerun.TrainTo(step);
  if (invocation.dry_run) {
    rerun.session().log().Info("Dry run: {} would be trained again from {}", prefix,
                               FromText(verified));
    return verified;
  }
  if (reached != step) {
    throw Error(
        Code::kGate,
        fmt::format("{}: when trained again, the run already ends with step {}", prefix, reached),
        "candidates: files of the input may have changed");
  }
  const SavedState again = LoadCheckpoint(rerun.folder());
  verified.tensors = saved.tensors.size() + saved.left.size();
  verified.differ = DifferentTensors(saved, again);
  for (std::string& name : DifferentTables(saved, again))
    verified.differ.push_back(std::move(name));
  const std::vector<ComparedRun> runs = {ReadRun(run.model_dir, sources),
                                         ReadRun(rerun.folder(), sources)};
  const Parting parting = PartingOf(runs[0], runs[1]);
  verified.losses = parting.common_losses;
  verified.first_loss = parting.losses;
  if (!verified.same()) {
    verified.candidates = CandidatesOf(KeyDifferences(runs), ProgramDifferences(runs));
  }
  return verified;
}

std::string SameText(const Verified& verified) {
  return fmt::format("{}: identical: {} tensors and {} losses, trained again from {}\n",
                     verified.path, verified.tensors, verified.losses, FromText(verified));
}

Error DifferenceError(const Verified& verified) {
  std::vector<std::string> names(
      verified.differ.begin(), verified.differ.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                             verified.differ.size(), kMostNames)));
  if (verified.differ.size() > kMostNames) names.emplace_back("...");
  std::string message =
      fmt::format("{}: trained again from {}, {} of {} tensors differ", verified.path,
                  FromText(verified), verified.differ.size(), verified.tensors);
  if (!names.empty()) message += fmt::format(" ({})", Join(names, ", "));
  if (verified.first_loss) {
    message += fmt::format("; the loss of step {} was {} and is now {}", verified.first_loss->step,
                           NumberText(verified.first_loss->a), NumberText(verified.first_loss->b));
  }
  return {Code::kGate, message, "candidates: " + CandidatesText(verified.candidates)};
}

Json VerifiedJson(const Verified& verified) {
  Json loss;
  if (verified.first_loss) {
    loss = {{"step", verified.first_loss->step},
            {"values", {verified.first_loss->a, verified.first_loss->b}}};
  }
  return {{"path", verified.path},
          {"global_step", verified.step},
          {"from", OrNull(verified.from)},
          {"same", verified.same()},
          {"tensors", verified.tensors},
          {"differ", verified.differ},
          {"losses", verified.losses},
          {"first_loss", loss},
          {"candidates", verified.candidates}};
}

Json RunJson(const VerifyInvocation& invocation, const NamedRun& run,
             const std::vector<Verified>& all, bool is_same) {
  Json checkpoints = Json::array();
  for (const Verified& verified : all) {
    Json json = VerifiedJson(verified);
    if (invocation.dry_run) json["same"] = Json();
    checkpoints.push_back(std::move(json));
  }
  Json json = {{"kind", "run"},
               {"path", run.model_dir},
               {"same", invocation.dry_run ? Json() : Json(is_same)},
               {"checkpoints", std::move(checkpoints)}};
  if (invocation.dry_run) json["dry_run"] = true;
  return json;
}

// The checkpoints to verify, by global step, oldest first.
std::map<int64_t, std::string> Targets(const VerifyInvocation& invocation, const NamedRun& run) {
  std::map<int64_t, std::string> all = CheckpointsIn(run.model_dir);
  if (run.checkpoint) {
    const auto step = StepOfCheckpoint(*run.checkpoint);
    if (!step) {
      throw Error(Code::kUsage, fmt::format("{}: its name does not give its step", *run.checkpoint),
                  "checkpoints of a run are named model.ckpt-STEP");
    }
    all = {{*step, *run.checkpoint}};
  }
  std::erase_if(all, [](const auto& each) { return each.first == 0; });  // step 0 trained nothing
  if (all.empty()) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: has no checkpoint after step 0", run.model_dir));
  }
  if (!invocation.all) all = {*all.rbegin()};
  return all;
}

void CheckFlagsOfRun(const VerifyInvocation& invocation) {
  if (invocation.all && invocation.from) {
    throw Error(Code::kUsage, "--all and --from exclude each other",
                "--all trains each checkpoint again from the one before it");
  }
  if (invocation.records) {
    throw Error(Code::kUsage, "--records applies to a SavedModel, but this is a run",
                "omit --records: a run is compared by all its tensors and losses");
  }
}

void PrintVerified(const Verified& verified, config::Sources& sources) {
  if (verified.same()) {
    fmt::print("{}", SameText(verified));
  } else {
    fmt::print(stderr, "{}", config::Render(DifferenceError(verified).faults(), sources));
  }
}

// Verifies one checkpoint; nullopt: with --all, the run has removed it meanwhile.
std::optional<Verified> VerifyTarget(const VerifyInvocation& invocation, const NamedRun& run,
                                     int64_t step, const std::string& prefix,
                                     config::Sources& sources) {
  try {
    return VerifyCheckpoint(invocation, run, step, prefix, sources);
  } catch (const Error& error) {
    if (!invocation.all || CheckpointExists(prefix)) throw;
    fmt::print(stderr, "warning: {}: skipped, because the run has removed it\n", prefix);
    return std::nullopt;
  }
}

int VerifyRun(const VerifyInvocation& invocation, config::Sources& sources) {
  CheckFlagsOfRun(invocation);
  const NamedRun run = RunOf(invocation);
  std::vector<Verified> all;
  for (const auto& [step, prefix] : Targets(invocation, run)) {
    const std::optional<Verified> verified = VerifyTarget(invocation, run, step, prefix, sources);
    if (!verified) continue;
    if (!invocation.json && !invocation.dry_run) PrintVerified(*verified, sources);
    all.push_back(*verified);
  }
  const bool is_same =
      std::all_of(all.begin(), all.end(), [](const Verified& each) { return each.same(); });
  if (invocation.json) PrintDocument("verify", RunJson(invocation, run, all, is_same));
  return is_same ? 0 : static_cast<int>(Code::kGate);
}

int RunVerify(const VerifyInvocation& invocation, config::Sources& sources) {
  if (invocation.arguments.size() == 1) {
    const std::string& path = invocation.arguments[0];
    if (const auto folder = SavedModelFolder(path)) {
      return VerifyExportOf(invocation, *folder, sources);
    }
    if (FileExists(path) && !FindCheckpoint(path)) {
      throw Error(
          Code::kUsage, fmt::format("{}: is not a run, checkpoint or SavedModel", path),
          fmt::format("to check the checksums of a TFRecord file: tpuest inspect --verify {}",
                      path));
    }
  }
  return VerifyRun(invocation, sources);
}

}  // namespace

Command VerifyCommand() {
  return MakeCommand<VerifyInvocation>(
      {.name = "verify",
       .summary = "check that training again, or an export, gives the same bits",
       .examples = {"tpuest verify runs/mnist", "tpuest verify runs/mnist --from start"},
       .takes = Takes::kRun},
      Declare, RunVerify);
}

}  // namespace tpuest::cli
