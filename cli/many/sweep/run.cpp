#include "cli/many/sweep/run.h"

#include <algorithm>
#include <thread>

#include "cli/run/record/series.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr double kLookSeconds = 1;

}  // namespace

std::optional<int> SweepRun::Run() {
  const std::unique_ptr<FileLock> lock = folder_.Lock();
  begin_ = clock_.Seconds();
  const std::optional<int> stopped =
      RunPool(record_.trials.size(), invocation_.jobs,
              {.next = [this](size_t i) { return Next(record_.trials[i]); },
               .start = [this](size_t i) { return Start(record_.trials[i]); },
               .ended = [this](size_t i, int code) { Ended(record_.trials[i], code); },
               .meanwhile = [this] { ShowStatus(); }});
  console_.Clear();
  return stopped;
}

// Tells what to do with a trial: one may still be saving after the sweep that began it was killed.
PoolTasks::Next SweepRun::Next(const Trial& trial) {
  const TrialStatus status = folder_.StatusOf(trial, record_.overrides);
  if (status.status == "running") {
    const bool is_news = told_.insert(trial.name).second;
    if (is_news) log().Info("{} is run by another process: waiting for it", trial.name);
    return PoolTasks::Next::kWait;
  }
  if (!status.done()) return PoolTasks::Next::kStart;
  ++done_;
  return PoolTasks::Next::kSkip;
}

ChildProcess SweepRun::Start(const Trial& trial) {
  folder_.NoteExit(trial, std::nullopt);
  log().Info("{}: {}", trial.name, Join(trial.Overrides(), " "));
  running_.insert(trial.name);
  looked_ = -1;
  try {
    return ChildProcess(ProgramCall{.words = WordsOf(trial),
                                    .program = ThisProgram(),
                                    .log = folder_.LogOf(trial),
                                    .supervised = true});
  } catch (const Error& error) {
    if (error.code() != Code::kResource) throw;
    throw Error(error.code(), error.message(), "--jobs N runs fewer trials at a time");
  }
}

void SweepRun::Ended(const Trial& trial, int exit_code) {
  running_.erase(trial.name);
  ++ended_;
  folder_.NoteExit(trial, exit_code);
  const TrialStatus status = folder_.StatusOf(trial, record_.overrides);
  if (status.done()) {
    ++done_;
    log().Info("{} is done", trial.name);
  } else {
    log().Warning("{} {} with exit code {}: see {}", trial.name,
                  status.status == "failed" ? "failed" : "ended", exit_code, folder_.LogOf(trial));
  }
}

void SweepRun::ShowStatus() {
  const double now = clock_.Seconds();
  if (now - looked_ < kLookSeconds) return;
  looked_ = now;
  console_.Status(StatusText());
}

std::string SweepRun::StatusText() const {
  std::string text = fmt::format("{}/{} trials done", done_, record_.trials.size());
  for (const Trial& trial : record_.trials) {
    if (!running_.contains(trial.name)) continue;
    const std::optional<int64_t> step = LastLoggedStep(folder_.RunOf(trial));
    text += "  " + trial.name;
    if (step) text += " step " + WithCommas(*step);
  }
  if (ended_ == 0 || done_ >= record_.trials.size()) return text;
  const double a_trial = (clock_.Seconds() - begin_) / static_cast<double>(ended_);
  return text + "  ETA " +
         DurationText(a_trial * static_cast<double>(record_.trials.size() - done_));
}

std::vector<std::string> SweepRun::WordsOf(const Trial& trial) const {
  std::vector<std::string> words = {"tpuest", record_.command, record_.job};
  for (const std::string& file : record_.set_files) words.insert(words.end(), {"--set-file", file});
  words.insert(words.end(), record_.overrides.begin(), record_.overrides.end());
  for (const std::string& own : trial.Overrides()) words.push_back(own);
  words.insert(words.end(), {"--model-dir", folder_.RunOf(trial)});
  if (const std::optional<int> threads = ThreadsOfTrial()) {
    words.insert(words.end(), {"--threads", fmt::format("{}", *threads)});
  }
  if (invocation_.device) words.insert(words.end(), {"--device", *invocation_.device});
  if (invocation_.no_commands) words.emplace_back("--no-commands");
  if (invocation_.verbose) words.emplace_back("--verbose");
  return words;
}

// The --threads of a trial: an even share of the machine, or of the sweep's --threads; nullopt
// where one runs at a time: it has what its job says.
std::optional<int> SweepRun::ThreadsOfTrial() const {
  const int at_once = std::min(invocation_.jobs, static_cast<int>(record_.trials.size()));
  if (at_once == 1) return invocation_.threads;
  const auto all =
      invocation_.threads.value_or(static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, all / at_once);
}

}  // namespace tpuest::cli
