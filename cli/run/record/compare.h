#pragma once
// Finds where runs part: in their jobs, their losses, their parameters.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/record/series.h"
#include "config/config.h"
#include "config/flatten.h"

namespace tpuest::cli {

// All that a run has left about itself and that can be compared.
struct ComparedRun {
  std::string path;
  std::vector<config::FlatValue> keys;         // the job's values, but for model_dir
  std::string train_input;                     // the input_fn that it trains on
  std::map<std::string, std::string> program;  // run.json's version, device, cpu, input
  RunSeries series;
  std::map<int64_t, std::string> checkpoints;  // prefixes by step
};

// Reads the run in the folder `path`. Error kUsage where there is no run.
[[nodiscard]] ComparedRun ReadRun(const std::string& path, config::Sources& sources);

// A key whose values are not the same in all runs; nullopt where a run lacks it.
struct KeyDifference {
  std::string path;
  std::vector<std::optional<std::string>> values;  // one a run, in their order
  bool can_change_bits = true;
};
// The keys whose values are not the same in all runs, in the order of the job.
[[nodiscard]] std::vector<KeyDifference> KeyDifferences(const std::vector<ComparedRun>& runs);
// The values of run.json (version, device, cpu, input) that are not the same in all runs.
[[nodiscard]] std::vector<KeyDifference> ProgramDifferences(const std::vector<ComparedRun>& runs);

// The names of all that can have made runs differ: paths of keys, then version, device, cpu, input.
[[nodiscard]] std::vector<std::string> CandidatesOf(const std::vector<KeyDifference>& keys,
                                                    const std::vector<KeyDifference>& program);

// The candidates for a person: "a, b"; where there are none, a sentence on what is left.
[[nodiscard]] std::string CandidatesText(const std::vector<std::string>& candidates);

// The first global step that both have logged with another loss.
struct LossDifference {
  int64_t step = 0;
  double a = 0;
  double b = 0;
};
struct ParameterDifference {
  int64_t step = 0;
  std::vector<std::string> variables;  // names of those that differ
  size_t of = 0;                       // how many are compared
};
// The place where a run leaves the first of those that are compared. NaN equals NaN.
struct Parting {
  size_t common_losses = 0;
  std::optional<LossDifference> losses;
  std::vector<int64_t> common_checkpoints;
  std::optional<ParameterDifference> parameters;

  [[nodiscard]] bool differs() const { return losses || parameters; }
};
// Compares losses that both have logged and checkpoints that both still have, by global step. Error
// kCheckpoint for a damaged checkpoint.
[[nodiscard]] Parting PartingOf(const ComparedRun& a, const ComparedRun& b);

}  // namespace tpuest::cli
