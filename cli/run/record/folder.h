#pragma once
// Keeps a run's record in model_dir/.tpuest: job, run.json, log, bad records.

#include <optional>
#include <string>
#include <vector>

#include "cli/shell/invocation.h"
#include "core/estimator/options/options.h"
#include "core/estimator/train_and_evaluate.h"
#include "data/data_errors.h"

namespace tpuest::cli {

// Returns the model_dir of a checkpoint prefix, or the folder itself. For a SavedModel,
// RUN/DIR/TIME or RUN/export/NAME/TIME, returns the run that exported it; folders further up are
// not searched.
[[nodiscard]] std::string ModelDirOf(const std::string& checkpoint);

// Returns "done", "training" or "killed"; "" without a run, and for a run of TensorFlow.
[[nodiscard]] std::string NameOf(TrainerState state);

// The facts of a run that run.json keeps of its start.
struct RunStart {
  int64_t seed = 0;
  std::string device;
  std::string input;  // identifies the files that the run trains on
  TrainLength length;
  int64_t begin_step = 0;
};

// Writes the record of one run. Error kResource for a full disk, kUsage for missing permissions.
class RunFolder {
 public:
  // Creates the folder if it does not exist.
  explicit RunFolder(const std::string& model_dir);
  // Returns the step that the run in model_dir began at, if its length is the same and it has not
  // ended with exit code 0.
  [[nodiscard]] static std::optional<int64_t> UnfinishedSince(const std::string& model_dir,
                                                              const TrainLength& length);
  // Returns the state of model_dir's run as another process sees it.
  [[nodiscard]] static TrainerState StateOf(const std::string& model_dir);
  // Returns true if model_dir has the folder of a run's record.
  [[nodiscard]] static bool ExistsIn(const std::string& model_dir);
  [[nodiscard]] std::string log_path() const;
  // Writes the job twice: a copy of its file, if it came from one, and the job with every value
  // filled in.
  void WriteJob(const std::optional<std::string>& source_file, const std::string& resolved) const;
  // Writes run.json, which says who ran what: at the start with status "running", and again at the
  // end. wall_seconds is Unix time.
  void WriteStart(const Invocation& invocation, const RunStart& start, double wall_seconds);
  // Writes a heartbeat, and the step if it has advanced. Readers decide by its age whether the
  // run is alive.
  void WriteBeat(const std::optional<int64_t>& global_step, double wall_seconds);
  // Writes the end, and the step of the newest checkpoint.
  void WriteEnd(int exit_code, const std::string& status, double wall_seconds);
  // Writes the end into the run.json of a run that had all its steps but was killed before it wrote
  // its end. If the file is damaged or missing, writes one for this invocation.
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

// Adds the bad records that BadRecordsPath lacks, as lines of file, line and reason separated by
// tabs, removes the temporary files of killed processes, and returns the path.
std::string AddBadRecords(const std::string& model_dir, const std::vector<data::BadRecord>& bad);

}  // namespace tpuest::cli
