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
#include "core/base/process/files.h"
#include "core/estimator/contract/metric_order.h"

namespace tpuest::cli {

// The record of a sweep in sweep.json.
struct SweepRecord {
  std::string job;                     // path of the job's file
  std::vector<std::string> set_files;  // of every trial
  std::string job_text;  // texts of the job and the set files; sweep.json has their CRC-32C
  std::vector<std::string> overrides;  // of every trial
  SweepSpace space;
  std::string command;  // command of a trial: train, or train-and-evaluate
  MetricOrder order;    // order that decides the best trial by the job itself
  std::vector<Trial> trials;
};

struct TrialStatus {
  // waiting: not started; running: a process runs it; stopped: it has saved and must be run again;
  // killed: it must be run again from its last checkpoint; failed; done.
  std::string status = "waiting";
  std::optional<int> exit_code;

  [[nodiscard]] bool done() const { return status == "done"; }
};

// Reads and writes the folder. Errors of files are kResource for a full disk, kUsage for missing
// permissions.
class SweepFolder {
 public:
  explicit SweepFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // Creates the folder and its sweep.json, or accepts an existing one of the same sweep, or of one
  // with fewer draws. Error kUsage for another sweep, with the differences; kData for an invalid
  // sweep.json.
  void Claim(const SweepRecord& record) const;
  // The record without the job's text. Error kUsage if the folder is not a sweep, kData for a
  // damaged sweep.json.
  [[nodiscard]] SweepRecord Read() const;
  // Prevents other processes from running the sweep until the lock is destroyed. Error kUsage if
  // another process runs it.
  [[nodiscard]] std::unique_ptr<FileLock> Lock() const;

  [[nodiscard]] std::string RunOf(const Trial& trial) const;
  [[nodiscard]] std::string LogOf(const Trial& trial) const;
  // Records how the trial ended; 0 and nullopt (the trial begins) leave no file.
  void NoteExit(const Trial& trial, std::optional<int> exit_code) const;
  // Returns the trial's state. `overrides` are those of every trial: a run with different ones is
  // not this trial.
  [[nodiscard]] TrialStatus StatusOf(const Trial& trial,
                                     const std::vector<std::string>& overrides) const;

 private:
  [[nodiscard]] std::string RecordPath() const { return JoinPath(path_, "sweep.json"); }
  [[nodiscard]] std::string ExitPath(const Trial& trial) const;

  std::string path_;
};

}  // namespace tpuest::cli
