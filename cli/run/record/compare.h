#pragma once
// Where runs part: their jobs, their losses, their parameters.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/record/series.h"
#include "config/config.h"
#include "config/flatten.h"

namespace tpuest::cli {

// What a run has left about itself.
struct ComparedRun {
  std::string path;
  std::vector<config::FlatValue> keys;         // of the job, but for model_dir
  std::string train_input;                     // the input_fn that it trains on
  std::map<std::string, std::string> program;  // version, device, cpu, input: of run.json
  RunSeries series;
  std::map<int64_t, std::string> checkpoints;  // prefixes by step
};

// Error kUsage where there is no run.
[[nodiscard]] ComparedRun ReadRun(const std::string& path, config::Sources& sources);

// A key whose values are not the same in all runs; nullopt where a run lacks it.
struct KeyDifference {
  std::string path;
  std::vector<std::optional<std::string>> values;  // of each run
  bool can_change_bits = true;
};
[[nodiscard]] std::vector<KeyDifference> KeyDifferences(const std::vector<ComparedRun>& runs);
// The same of what ran them.
[[nodiscard]] std::vector<KeyDifference> ProgramDifferences(const std::vector<ComparedRun>& runs);

// What can have made runs differ: paths of keys, then version, device, cpu, input.
[[nodiscard]] std::vector<std::string> CandidatesOf(const std::vector<KeyDifference>& keys,
                                                    const std::vector<KeyDifference>& program);

// "a, b", or what else there may be where there are none.
[[nodiscard]] std::string CandidatesText(const std::vector<std::string>& candidates);

// The first step that both have logged with another loss.
struct LossDifference {
  int64_t step = 0;
  double a = 0;
  double b = 0;
};
struct ParameterDifference {
  int64_t step = 0;
  std::vector<std::string> variables;  // those that differ
  size_t of = 0;                       // all
};
// How a run stands to the first of those that are compared.
struct Parting {
  size_t common_losses = 0;
  std::optional<LossDifference> losses;
  std::vector<int64_t> common_checkpoints;
  std::optional<ParameterDifference> parameters;

  [[nodiscard]] bool differs() const { return losses || parameters; }
};
[[nodiscard]] Parting PartingOf(const ComparedRun& a, const ComparedRun& b);

}  // namespace tpuest::cli
