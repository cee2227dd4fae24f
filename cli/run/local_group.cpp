#include "cli/run/local_group.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cli/host/signals.h"
#include "cli/job/job.h"
#include "cli/run/process.h"
#include "cli/run/session.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/process/child_process.h"
#include "core/base/process/files.h"
#include "core/estimator/step/estimator_context.h"
#include "core/hosts/shares.h"

namespace tpuest::cli {
namespace {

StopSignal group_stop;  // set by signal handlers

constexpr std::string_view kGroupFolder = "tpuest-group";

// Returns true if a file changed within the last minute, or in the future because the clock was set
// back.
bool IsRecent(const std::string& path) {
  constexpr auto kRecent = std::chrono::minutes(1);
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(path, error);
  return error || std::filesystem::file_time_type::clock::now() - changed < kRecent;
}

// Removes the folders beside `own` of groups whose first process was killed: no process holds their
// lock. A folder without a lock may also belong to a process that has only just created it, so
// recent folders stay.
void RemoveLostFolders(const std::string& own) {
  const std::string parent = DirName(own);
  for (const std::string& name : ListDirectory(parent)) {
    const std::string path = JoinPath(parent, name);
    const bool is_other = name.starts_with(fmt::format("{}.", kGroupFolder)) && path != own;
    if (!is_other || !DirectoryExists(path) || IsRecent(path)) continue;
    try {
      if (FileLock::TryAcquireFolder(path) != nullptr) RemoveTree(path);
    } catch (const Error&) {
      // The folder belongs to another user.
    }
  }
}

// Owns the folder in which a group's processes meet and the workers' logs are kept. This process
// holds the folder's lock as long as it lives.
class GroupFolder {
 public:
  GroupFolder()
      : path_(MakeTemporaryFolder(kGroupFolder)), lock_(FileLock::TryAcquireFolder(path_)) {
    RemoveLostFolders(path_);
  }
  ~GroupFolder() {
    try {
      RemoveTree(path_);
    } catch (const Error&) {
      // The folder is temporary.
    }
  }
  GroupFolder(const GroupFolder&) = delete;
  GroupFolder& operator=(const GroupFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string LogOf(int rank) const {
    return JoinPath(path_, fmt::format("{}.log", rank));
  }

 private:
  const std::string path_;
  const std::unique_ptr<FileLock> lock_;
};

std::string ColorWord(Toggle toggle) {
  if (toggle == Toggle::kAuto) return "auto";
  return toggle == Toggle::kAlways ? "always" : "never";
}

std::string ProgressWord(Toggle toggle) {
  if (toggle == Toggle::kAuto) return "auto";
  return toggle == Toggle::kAlways ? "on" : "off";
}

std::string FormatWord(LogFormat format) {
  if (format == LogFormat::kText) return "text";
  return format == LogFormat::kTensorFlow ? "tf" : "json";
}

std::vector<std::string> WordsFor(const Invocation& invocation, const std::string& command,
                                  const std::optional<int>& threads) {
  std::vector<std::string> words = {"tpuest", command};
  if (invocation.job) words.push_back(*invocation.job);
  const auto add = [&words](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  for (const std::string& file : invocation.set_files) add({"--set-file", file});
  words.insert(words.end(), invocation.overrides.begin(), invocation.overrides.end());
  for (const KeyFlag& given : invocation.key_flags) add({given.key + "=" + given.value});
  if (invocation.model_dir) add({"--model-dir", *invocation.model_dir});
  if (invocation.checkpoint) add({"--checkpoint", *invocation.checkpoint});
  if (invocation.allow_older) add({"--allow-older"});
  if (invocation.no_commands) add({"--no-commands"});
  if (invocation.untrained) add({"--untrained"});
  if (invocation.fold) add({"--fold", *invocation.fold});
  if (threads) add({"--threads", std::to_string(*threads)});
  if (invocation.device) add({"--device", *invocation.device});
  if (invocation.dry_run) add({"--dry-run"});
  if (invocation.json) add({"--json"});
  if (invocation.quiet) add({"--quiet"});
  if (invocation.verbose) add({"--verbose"});
  if (invocation.timestamps) add({"--timestamps"});
  add({"--log-format", FormatWord(invocation.log_format), "--color", ColorWord(invocation.color),
       "--progress", ProgressWord(invocation.progress)});
  return words;
}

// Owns the processes of a running group.
class LocalGroup {
 public:
  LocalGroup(const std::vector<std::string>& words, int processes) {
    setenv("TPUEST_NUM_PROCESSES", std::to_string(processes).c_str(), 1);
    setenv("TPUEST_COORDINATOR", (kLocalGroup + folder_.path()).c_str(), 1);
    for (int rank = 0; rank < processes; ++rank) {
      setenv("TPUEST_PROCESS_ID", std::to_string(rank).c_str(), 1);
      children_.emplace_back(
          ProgramCall{.words = words,
                      .program = ThisProgram(),
                      .log = rank == 0 ? std::nullopt : std::optional(folder_.LogOf(rank)),
                      .speaks_for_itself = rank == 0,
                      .supervised = true});
    }
    ends_.resize(children_.size());
  }

  // Waits until all processes have ended. `stop_signals` are the signals on which the chief saves
  // and exits.
  void Await(const std::vector<std::string>& stop_signals) {
    while (true) {
      size_t running = 0;
      for (size_t i = 0; i < children_.size(); ++i) {
        if (!ends_[i]) ends_[i] = children_[i].Poll();
        if (!ends_[i]) ++running;
      }
      if (running == 0) return;
      PassOn(stop_signals);
      EndLateOnes();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  // Returns the chief's exit code. If the chief was killed, prints the error of a worker that
  // noticed and returns that worker's code; if no worker noticed, throws an Error that names the
  // process that ended first.
  [[nodiscard]] int Verdict() const {
    const ProcessEnd& chief = *ends_.front();
    if (chief.signal == 0) return chief.code;
    for (size_t i = 1; i < ends_.size(); ++i) {
      if (ends_[i]->signal != 0 || ends_[i]->code == 0) continue;
      const std::string said = ReadFile(folder_.LogOf(static_cast<int>(i)));
      const size_t error = said.find("error: ");
      if (error == std::string::npos) continue;
      fmt::print(stderr, "{}", said.substr(error));
      return ends_[i]->code;
    }
    const ProcessEnd& first = *ends_[first_lost_];
    throw Error(
        Code::kLost,
        fmt::format("process {} of {} ended with {} before it could tell the other processes why",
                    first_lost_, ends_.size(),
                    first.signal != 0 ? fmt::format("signal {}", first.signal)
                                      : fmt::format("exit code {}", first.code)),
        "the same command resumes from the newest checkpoint");
  }

 private:
  // Signals only the chief, which decides for all processes at which step they stop.
  void PassOn(const std::vector<std::string>& stop_signals) {
    if (!group_stop.requested() || std::exchange(passed_on_, true)) return;
    const bool interrupted = group_stop.kind() == StopSignal::Kind::kInterrupted;
    for (const std::string& name : stop_signals) {
      if ((name == "SIGINT") != interrupted) continue;
      return children_.front().Signal(*SignalNamed(name));
    }
  }

  // Ends the remaining processes some time after the first has ended. A process that is suspended,
  // or still waits for the group to form, does not notice by itself.
  void EndLateOnes() {
    constexpr double kAfterEndSecs = 40;
    constexpr double kAfterFailureSecs = 5;
    for (size_t i = 0; i < ends_.size() && !failed_; ++i) {
      if (!ends_[i]) continue;
      if (!first_end_) first_end_ = SystemClock().Seconds();
      if (ends_[i]->ShellCode() == 0) continue;
      failed_ = true;
      first_lost_ = i;
      first_end_ = SystemClock().Seconds();
    }
    if (!first_end_) return;
    const double since = SystemClock().Seconds() - *first_end_;
    if (since < (failed_ ? kAfterFailureSecs : kAfterEndSecs)) return;
    for (size_t i = 0; i < children_.size(); ++i) {
      if (!ends_[i]) children_[i].Signal(SIGKILL);
    }
  }

  const GroupFolder folder_;
  std::vector<ChildProcess> children_;
  std::vector<std::optional<ProcessEnd>> ends_;
  std::optional<double>
      first_end_;  // when the first process ended; after a failure, when the first failed
  bool failed_ = false;
  size_t first_lost_ = 0;  // the first process that failed
  bool passed_on_ = false;
};

}  // namespace

int RunLocalGroup(const Invocation& given, const std::string& command,
                  const std::vector<std::string>& flags, int processes, config::Sources& sources) {
  Invocation invocation = given;
  invocation.command = command;
  LoadedJob loaded = LoadInvocationJob(invocation, sources);
  const hosts::ProcessPlace place = ThisProcess(ReadTfConfig(RulesOf(loaded.job)));
  if (place.is_one_of_several()) {
    throw Error(Code::kUsage,
                fmt::format("--processes {}: this process is already {}", processes,
                            hosts::PlaceText(place)),
                "leave out --processes: it starts a separate group, on one machine");
  }
  const hosts::ProcessPlace chief{.rank = 0, .size = processes};
  SpreadReplicas(chief, loaded.job.estimator.run_config);
  CheckGroup(loaded.job, chief, invocation);
  const auto& session_config = loaded.job.estimator.run_config.session_config;
  std::optional<int> threads = invocation.threads;
  if (!threads && session_config.intra_op_parallelism_threads == 0) {
    threads = ThreadsOf(loaded.job.estimator.run_config);
  }
  if (threads) threads = std::max(1, *threads / processes);
  const std::vector<std::string>& signals = loaded.job.tpuest.preemption.signals;
  HandleSignals(group_stop, signals, std::nullopt);
  std::vector<std::string> words = WordsFor(invocation, command, threads);
  words.insert(words.end(), flags.begin(), flags.end());
  LocalGroup group(words, processes);
  group.Await(signals);
  return group.Verdict();
}

}  // namespace tpuest::cli
