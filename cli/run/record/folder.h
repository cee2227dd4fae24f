#pragma once
// A run leaves its record in model_dir/.tpuest: job, run.json, log, bad records.

#include <optional>
#include <string>
#include <vector>

#include "cli/shell/invocation.h"
#include "core/estimator/options/options.h"
#include "core/estimator/train_and_evaluate.h"
#include "data/data_errors.h"

namespace tpuest::cli {

// The model_dir of a checkpoint prefix, or the folder itself; of a SavedModel, the run that it was
// exported in, RUN/DIR/TIME or RUN/export/NAME/TIME: no further folder above is looked at.
[[nodiscard]] std::string ModelDirOf(const std::string& checkpoint);

// "done", "training", "killed"; "" where no run was, or one of TensorFlow's.
[[nodiscard]] std::string NameOf(TrainerState state);

// The facts of a run that run.json keeps of its start.
struct RunStart {
  int64_t seed = 0;
  std::string device;
  std::string input;  // tells the files apart that it is trained on
  TrainLength length;
  int64_t begin_step = 0;
};

// Writes the record of one run. Error kResource for a full disk, kUsage where permission is
// missing.
class RunFolder {
 public:
  // Makes the folder where there is none.
  explicit RunFolder(const std::string& model_dir);
  // The step that the run in model_dir began at, if it was of this length and has not ended with
  // exit code 0.
  [[nodiscard]] static std::optional<int64_t> UnfinishedSince(const std::string& model_dir,
                                                              const TrainLength& length);
  // The state of model_dir's run, as a process outside of it sees it.
  [[nodiscard]] static TrainerState StateOf(const std::string& model_dir);
  // True where a run has left its folder in model_dir.
  [[nodiscard]] static bool ExistsIn(const std::string& model_dir);
  [[nodiscard]] std::string log_path() const;
  // Writes the job twice: as its file was, if it was a file, and with every value put in.
  void WriteJob(const std::optional<std::string>& source_file, const std::string& resolved) const;
  // Writes run.json, who ran what: at the start with status "running", and again at the end.
  // wall_seconds count from 1970 (UTC).
  void WriteStart(const Invocation& invocation, const RunStart& start, double wall_seconds);
  // Writes that the run goes on, and how far it is if that is more than before: who watches it
  // looks how old that is.
  void WriteBeat(const std::optional<int64_t>& global_step, double wall_seconds);
  // Writes the end, and the step of the newest checkpoint.
  void WriteEnd(int exit_code, const std::string& status, double wall_seconds);
  // Puts the end into the run.json of a run that was done but for it: nothing was left to do. Where
  // the file is damaged or gone, it becomes this invocation's.
  void WriteDone(const Invocation& invocation, const RunStart& start, double wall_seconds);

 private:
  void WriteRun() const;

  std::string model_dir_;
  std::string command_line_;
  std::vector<std::string> overrides_;
  RunStart start_;
  double begin_ = 0;
  double beat_ = 0;
  int64_t step_ = 0;
  std::optional<double> end_;
  std::string status_ = "running";
  std::optional<int> exit_code_;
};

// Adds lines of file, line and reason, with tabs between, to BadRecordsPath, those that it lacks,
// and takes away what a killed process left of it; returns the path.
std::string AddBadRecords(const std::string& model_dir, const std::vector<data::BadRecord>& bad);

}  // namespace tpuest::cli
