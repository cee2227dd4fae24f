#pragma once
// Writes the job that goes on with an old Estimator's folder.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/prepare/migrate/csv_lines.h"
#include "cli/prepare/migrate/model.h"
#include "cli/prepare/migrate/parser.h"

namespace tpuest::cli {

struct MigratedRun {
  std::string model_dir;
  std::string name;
  int64_t global_step = 0;
  std::optional<int64_t> batch_size;
  int64_t replicas = 1;                  // more than 1: trained on a TPU, or as on one
  std::optional<int64_t> shuffle;        // buffer_size
  bool datasets_known = false;           // the graph says what it reads, from file to batch
  std::vector<std::string> elements;     // features of the iterator's tensors; see IteratorFeatures
  std::vector<std::string> unsaid;       // sentences on datasets that the job does not have
  std::optional<int64_t> save_steps;     // save_checkpoints_steps
  std::optional<int64_t> summary_steps;  // save_summary_steps
  std::optional<int64_t> log_steps;      // log_step_count_steps
  std::optional<RecordParser> parser;    // what the records hold
  std::optional<CsvLines> lines;         // what lines of CSV hold, where it reads such
  std::vector<std::string> files;        // of records or lines
};

// The run's numbers, as the graph's input pipeline and the event files of the folder tell them;
// nullopt where they do not. `features` are those that the model reads.
[[nodiscard]] MigratedRun FindRun(const SeenGraph& graph, const BundleReader& variables,
                                  const std::string& model_dir,
                                  const std::set<std::string>& features);

struct MigratedJob {
  std::string text;                  // YAML; a line "# ??? ..." stands before what is not known
  std::vector<std::string> unknown;  // the texts of those lines, in order
};

// The job's text, which holds all that was found and marks what was not.
[[nodiscard]] MigratedJob WriteMigratedJob(const MigratedRun& run, const MigratedModel& model,
                                           const MigratedColumns& columns);

// The job's text with what a comparison of predictions found, below its first line.
[[nodiscard]] std::string WithCheck(const std::string& text, const std::string& what);

}  // namespace tpuest::cli
