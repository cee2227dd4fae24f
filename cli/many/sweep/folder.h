#pragma once
// A sweep's folder:
//
//   sweep.json            the sweep, and each trial with its keys and values
//   trial_000/            a run like any other
//   logs/trial_000.txt    what the trial printed
//   logs/trial_000.exit   the exit code of a trial that did not end well

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/many/sweep/trials.h"
#include "core/base/files.h"
#include "core/estimator/contract/metric_order.h"

namespace tpuest::cli {

struct SweepRecord {
  std::string job;                     // its file
  std::vector<std::string> set_files;  // of every trial
  std::string job_text;                // of the job and the set files; checksummed in sweep.json
  std::vector<std::string> overrides;  // of every trial
  SweepSpace space;
  std::string command;  // what a trial runs: train, or train-and-evaluate
  MetricOrder order;    // by which the job itself would tell the best
  std::vector<Trial> trials;
};

struct TrialStatus {
  // waiting: nothing was run; running: by some process; stopped: saved, to be run again; killed:
  // likewise, from the last checkpoint; failed; done.
  std::string status = "waiting";
  std::optional<int> exit_code;

  [[nodiscard]] bool done() const { return status == "done"; }
};

class SweepFolder {
 public:
  explicit SweepFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // Makes the folder and its sweep.json, or goes on with what is there: the same sweep, or one with
  // fewer draws. Error kUsage for another sweep, with all that differs.
  void Claim(const SweepRecord& record) const;
  // The record, without the job's text. Error kUsage where there is no sweep.
  [[nodiscard]] SweepRecord Read() const;
  // Nobody else runs the sweep until the lock is destroyed. Error kUsage where somebody does.
  [[nodiscard]] std::unique_ptr<FileLock> Lock() const;

  [[nodiscard]] std::string RunOf(const Trial& trial) const;
  [[nodiscard]] std::string LogOf(const Trial& trial) const;
  // nullopt: the trial begins.
  void NoteExit(const Trial& trial, std::optional<int> exit_code) const;
  // `overrides` are those of every trial: what ran with others is not this trial.
  [[nodiscard]] TrialStatus StatusOf(const Trial& trial,
                                     const std::vector<std::string>& overrides) const;

 private:
  [[nodiscard]] std::string RecordPath() const { return JoinPath(path_, "sweep.json"); }
  [[nodiscard]] std::string ExitPath(const Trial& trial) const;

  std::string path_;
};

}  // namespace tpuest::cli
