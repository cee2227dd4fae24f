#pragma once
// Runs the trials of a sweep as children of this process.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/many/sweep/folder.h"
#include "cli/many/sweep/invocation.h"
#include "cli/many/sweep/trial_pool.h"
#include "cli/shell/console.h"

namespace tpuest::cli {

class SweepRun {
 public:
  // The arguments must outlive it.
  SweepRun(const SweepInvocation& invocation, const SweepFolder& folder, const SweepRecord& record)
      : invocation_(invocation), folder_(folder), record_(record), console_(invocation, clock_) {}

  // Runs the unfinished trials. Returns the result of RunPool: the exit code after a signal,
  // nullopt if all were run. Children write to their logs; status lines go to stderr.
  std::optional<int> Run();
  [[nodiscard]] Log& log() { return console_.log(); }

 private:
  [[nodiscard]] PoolTasks::Next Next(const Trial& trial);
  [[nodiscard]] ChildProcess Start(const Trial& trial);
  void Ended(const Trial& trial, int exit_code);
  void ShowStatus();
  [[nodiscard]] std::string StatusText() const;
  [[nodiscard]] std::vector<std::string> WordsOf(const Trial& trial) const;
  [[nodiscard]] std::optional<int> ThreadsOfTrial() const;

  const SweepInvocation& invocation_;
  const SweepFolder& folder_;
  const SweepRecord& record_;
  SystemClock clock_;
  Console console_;
  std::set<std::string> running_;  // trials, by name
  std::set<std::string> told_;     // trials already reported as run by another process
  size_t done_ = 0;
  size_t ended_ = 0;    // trials that were begun here and have ended
  double begin_ = 0;    // seconds of the clock
  double looked_ = -1;  // when the trials' steps were last read
};

}  // namespace tpuest::cli
