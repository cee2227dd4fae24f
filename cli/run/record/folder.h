#pragma once
// model_dir/.tpuest: what a run leaves about itself.

#include <optional>
#include <string>
#include <vector>

#include "cli/shell/invocation.h"
#include "core/estimator/train_and_evaluate.h"
#include "data/data_errors.h"

namespace tpuest::cli {

// The model_dir of a checkpoint prefix, or the folder itself; of a SavedModel, the run that it was
// exported in, RUN/DIR/TIME or RUN/export/NAME/TIME: no further folder above is looked at.
[[nodiscard]] std::string ModelDirOf(const std::string& checkpoint);

class RunFolder {
 public:
  // Makes the folder where it is not there.
  explicit RunFolder(const std::string& model_dir);
  // How the run of model_dir stands, asked from outside.
  [[nodiscard]] static TrainerState StateOf(const std::string& model_dir);
  // Whether a run has left its folder in model_dir.
  [[nodiscard]] static bool ExistsIn(const std::string& model_dir);
  [[nodiscard]] std::string log_path() const;
  // The job as it was written (if it was a file) and with every value put in.
  void WriteJob(const std::optional<std::string>& source_file, const std::string& resolved) const;
  // run.json: who ran what; written at the start with status "running" and again at the end.
  // `input`: what tells the files that it is trained on apart.
  void WriteStart(const Invocation& invocation, int64_t seed, const std::string& input,
                  double wall_seconds);
  void WriteEnd(int exit_code, const std::string& status, double wall_seconds);

 private:
  void WriteRun() const;

  std::string model_dir_;
  std::string command_line_;
  std::vector<std::string> overrides_;
  std::string device_;
  int64_t seed_ = 0;
  std::string input_;
  double start_ = 0;
  std::optional<double> end_;
  std::string status_ = "running";
  std::optional<int> exit_code_;
};

// Adds lines "file, line, why" to BadRecordsPath, those that it lacks; returns the path.
std::string AddBadRecords(const std::string& model_dir, const std::vector<BadRecord>& bad);

}  // namespace tpuest::cli
