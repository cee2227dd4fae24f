#pragma once
// Finds where runs begin to differ: in their jobs, losses and parameters.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/record/series.h"
#include "config/config.h"
#include "config/flatten.h"

namespace tpuest::cli {

// The comparable part of a run's record.
struct ComparedRun {
  std::string path;
  std::vector<config::FlatValue> keys;         // the job's values except model_dir
  std::string train_input;                     // the input_fn that it trains on
  std::map<std::string, std::string> program;  // run.json's version, device, cpu, input
  RunSeries series;
  std::map<int64_t, std::string> checkpoints;  // prefixes by step
};

// Reads the run in the folder `path`. Error kUsage if the folder is not a run.
[[nodiscard]] ComparedRun ReadRun(const std::string& path, config::Sources& sources);

// A key whose values are not the same in all runs.
struct KeyDifference {
  std::string path;
  std::vector<std::optional<std::string>>
      values;  // one per run, in their order; nullopt if the run lacks the key
  bool can_change_bits = true;
};
// The keys whose values are not the same in all runs, in the order of the job.
[[nodiscard]] std::vector<KeyDifference> KeyDifferences(const std::vector<ComparedRun>& runs);
// The values of run.json (version, device, cpu, input) that are not the same in all runs.
[[nodiscard]] std::vector<KeyDifference> ProgramDifferences(const std::vector<ComparedRun>& runs);

// Returns the names of everything that can have made the runs differ: paths of keys, then version,
// device, cpu, input.
[[nodiscard]] std::vector<std::string> CandidatesOf(const std::vector<KeyDifference>& keys,
                                                    const std::vector<KeyDifference>& program);

// Returns the candidates for a person to read: "a, b", or a sentence on other causes if the list is
// empty.
[[nodiscard]] std::string CandidatesText(const std::vector<std::string>& candidates);

// The first global step at which both runs have logged a loss and the losses differ.
struct LossDifference {
  int64_t step = 0;
  double a = 0;
  double b = 0;
};
struct ParameterDifference {
  int64_t step = 0;
  std::vector<std::string> variables;  // names of the variables that differ
  size_t of = 0;                       // number of variables compared
};
// The place where a run begins to differ from the first run. NaN equals NaN.
struct Parting {
  size_t common_losses = 0;
  std::optional<LossDifference> losses;
  std::vector<int64_t> common_checkpoints;
  std::optional<ParameterDifference> parameters;

  [[nodiscard]] bool differs() const { return losses || parameters; }
};
// Compares, by global step, the losses that both runs have logged and the checkpoints that both
// still have. Error kCheckpoint for a damaged checkpoint.
[[nodiscard]] Parting PartingOf(const ComparedRun& a, const ComparedRun& b);

}  // namespace tpuest::cli
