#pragma once
// Lists the runs below a folder, as `tpuest ls` shows them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

struct ListedRun {
  std::string path;             // relative to the listed folder
  std::optional<int64_t> step;  // global step of the newest checkpoint
  std::optional<double> loss;   // the last that was logged
  std::string metric;           // "accuracy"; empty: there was no evaluation
  std::optional<double> best;   // the metric's best value
  int64_t best_step = 0;
  std::string status;                 // "training", "done", "failed", "killed", ...
  std::optional<int> exit_code;       // exit code of the last train
  std::optional<double> last_change;  // seconds since the epoch: when the run ended or began
};

// The run folders at most three levels below, in alphabetical order; the folder itself if it is
// one. The metric of a run is that of its keep_best or BestExporter, otherwise the first of
// accuracy, auc, average_loss and loss that it has. A damaged run has fewer fields. Error kData if
// the folder does not exist.
[[nodiscard]] std::vector<ListedRun> ListRuns(const std::string& folder);

}  // namespace tpuest::cli
