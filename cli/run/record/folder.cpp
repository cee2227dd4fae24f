#include "cli/run/record/folder.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/host/build_info.h"
#include "cli/host/cpu_features.h"
#include "cli/run/record/json.h"
#include "cli/shell/json.h"
#include "core/base/clock.h"
#include "core/base/process/files.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/heartbeat.h"
#include "core/estimator/model_dir/leftovers.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"

namespace tpuest::cli {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& path) {
  const std::string folder = DirName(path);
  return folder.empty() ? "." : folder;
}

// Returns the path without a final slash and without "." and ".." parts.
fs::path PlainPath(const std::string& path) {
  fs::path plain = fs::path(path).lexically_normal();
  if (plain.begin() != plain.end() && *plain.begin() == "..") {
    plain = fs::absolute(path).lexically_normal();
  }
  return plain.has_filename() ? plain : plain.parent_path();
}

fs::path Named(const fs::path& folder) { return folder == "." ? fs::current_path() : folder; }

fs::path Above(const fs::path& folder) {
  const fs::path above = Named(folder).parent_path();
  return above.empty() ? "." : above;
}

// Exporters write RUN/DIR/TIME and RUN/export/NAME/TIME: a run further up is a different run.
std::optional<std::string> RunOfExport(const fs::path& exported) {
  const fs::path dir = Above(exported);
  const fs::path above = Above(dir);
  std::vector<fs::path> candidates = {dir, above};
  if (IsExportDir(Named(above).filename().string())) candidates.push_back(Above(above));
  for (const fs::path& candidate : candidates) {
    if (FileExists(ResolvedJobPath(candidate.string()))) return candidate.string();
  }
  return std::nullopt;
}

void WriteRunJson(const std::string& model_dir, const Json& run) {
  WriteFileAtomically(RunJsonPath(model_dir),
                      run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                      /*fsync=*/false);
}

Json LengthJson(const TrainLength& length) {
  return {{"steps", length.steps ? Json(*length.steps) : Json()},
          {"max_steps", length.max_steps ? Json(*length.max_steps) : Json()}};
}

// Returns the step of the newest checkpoint.
std::optional<int64_t> NewestStep(const std::string& model_dir) {
  const std::map<int64_t, std::string> checkpoints = CheckpointsIn(model_dir);
  if (checkpoints.empty()) return std::nullopt;
  return checkpoints.rbegin()->first;
}

}  // namespace

std::string ModelDirOf(const std::string& checkpoint) {
  std::string folder = DirectoryExists(checkpoint) ? checkpoint : FolderOf(checkpoint);
  if (FileExists(ResolvedJobPath(folder))) return folder;
  const fs::path plain = PlainPath(folder);
  if (plain.filename() == kVariables) return RunOfExport(Above(plain)).value_or(folder);
  if (!CheckpointExists(SavedModelVariables(folder))) return folder;
  return RunOfExport(plain).value_or(folder);
}

std::string NameOf(TrainerState state) {
  switch (state) {
    case TrainerState::kNone:
      return "";  // a run of TensorFlow, or one that was only evaluated
    case TrainerState::kTraining:
      return "training";
    case TrainerState::kGone:
      return "killed";
    case TrainerState::kPreempted:
      return "preempted";
    case TrainerState::kInterrupted:
      return "interrupted";
    case TrainerState::kFailed:
      return "failed";
    case TrainerState::kDone:
      break;
  }
  return "done";
}

RunFolder::RunFolder(const std::string& model_dir) : model_dir_(model_dir) {
  MakeDirectories(PrivateDir(model_dir));
}

bool RunFolder::ExistsIn(const std::string& model_dir) {
  return DirectoryExists(PrivateDir(model_dir));
}

// A starting run takes its lock before it writes run.json. An ending run releases its lock before
// it writes its end: for a moment it seems killed.
TrainerState RunFolder::StateOf(const std::string& model_dir) {
  const bool is_held =
      FileLock::IsHeld(LockPath(model_dir)) || HasFreshBeat(model_dir, SystemClock().WallSeconds());
  if (is_held) return TrainerState::kTraining;
  const std::optional<Json> read = ReadRunJson(model_dir);
  if (!read) return TrainerState::kNone;
  const Json& run = *read;
  const bool is_known = run.contains("status") && run.contains("exit_code");
  if (!is_known || !run["exit_code"].is_number_integer()) return TrainerState::kGone;
  const auto code = static_cast<Code>(run["exit_code"].get<int>());
  const bool is_unsaved = code == static_cast<Code>(kTerminatedCode);
  if (code == Code::kPreempted || is_unsaved) return TrainerState::kPreempted;
  if (code == Code::kInterrupted) return TrainerState::kInterrupted;
  return run["status"] == "done" ? TrainerState::kDone : TrainerState::kFailed;
}

std::string RunFolder::log_path() const { return LogPath(model_dir_); }

void RunFolder::WriteJob(const std::optional<std::string>& source_file,
                         const std::string& resolved) const {
  if (source_file) WriteFileAtomically(SourceJobPath(model_dir_), ReadFile(*source_file));
  WriteFileAtomically(ResolvedJobPath(model_dir_), resolved);
}

void RunFolder::WriteStart(const Invocation& invocation, const RunStart& start,
                           double wall_seconds) {
  command_line_ = invocation.command_line;
  overrides_ = invocation.overrides;
  start_ = start;
  begin_ = wall_seconds;
  beat_ = wall_seconds;
  step_ = start.begin_step;
  WriteRun();
}

void RunFolder::WriteBeat(const std::optional<int64_t>& global_step, double wall_seconds) {
  step_ = global_step.value_or(step_);
  beat_ = wall_seconds;
  WriteRun();
}

void RunFolder::WriteEnd(int exit_code, const std::string& status, double wall_seconds) {
  exit_code_ = exit_code;
  status_ = status;
  end_ = wall_seconds;
  beat_ = wall_seconds;
  step_ = NewestStep(model_dir_).value_or(step_);
  WriteRun();
}

void RunFolder::WriteDone(const Invocation& invocation, const RunStart& start,
                          double wall_seconds) {
  std::optional<Json> run = ReadRunJson(model_dir_);
  if (!run || !run->contains("status")) {
    WriteStart(invocation, start, wall_seconds);
    return WriteEnd(0, "done", wall_seconds);
  }
  if ((*run)["status"] == "done") return;
  (*run)["end"] = wall_seconds;
  (*run)["heartbeat"] = wall_seconds;
  (*run)["global_step"] = NewestStep(model_dir_).value_or(0);
  (*run)["status"] = "done";
  (*run)["exit_code"] = 0;
  WriteRunJson(model_dir_, *run);
}

std::optional<int64_t> RunFolder::UnfinishedSince(const std::string& model_dir,
                                                  const TrainLength& length) {
  const Json run = ReadRunJson(model_dir).value_or(Json::object());
  const bool is_known = run.contains("begin_step") && run["begin_step"].is_number_integer();
  if (!is_known || run.value("exit_code", Json()) == 0) return std::nullopt;
  if (run.value("length", Json()) != LengthJson(length)) return std::nullopt;
  return run["begin_step"].get<int64_t>();
}

void RunFolder::WriteRun() const {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const Json run = {{"argv", command_line_},
                    {"overrides", overrides_},
                    {"version", ThisBuild().version},
                    {"commit", ThisBuild().commit},
                    {"host", host},
                    {"pid", getpid()},
                    {"device", start_.device},
                    {"cpu", CpuText()},
                    {"input", start_.input.empty() ? Json() : Json(start_.input)},
                    {"seed", start_.seed},
                    {"length", LengthJson(start_.length)},
                    {"begin_step", start_.begin_step},
                    {"start", begin_},
                    {"heartbeat", beat_},
                    {"global_step", step_},
                    {"end", end_ ? Json(*end_) : Json()},
                    {"status", status_},
                    {"exit_code", exit_code_ ? Json(*exit_code_) : Json()}};
  WriteRunJson(model_dir_, run);
}

std::string AddBadRecords(const std::string& model_dir, const std::vector<data::BadRecord>& bad) {
  std::string path = BadRecordsPath(model_dir);
  std::string text = ReadFileIfThere(path).value_or("file\tline\twhy\n");
  const std::vector<std::string> lines = Split(text, '\n');
  const std::set<std::string> known(lines.begin(), lines.end());
  for (const data::BadRecord& record : bad) {
    std::string why = record.why;
    std::replace_if(
        why.begin(), why.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    const std::string line = fmt::format("{}\t{}\t{}", record.file, record.line, why);
    if (!known.contains(line)) text += line + "\n";
  }
  MakeDirectories(PrivateDir(model_dir));
  // After the end of a run no other process removes the temporary files of its killed readers.
  RemoveLostParts(path);
  WriteFileAtomically(path, text, false);
  return path;
}

}  // namespace tpuest::cli
