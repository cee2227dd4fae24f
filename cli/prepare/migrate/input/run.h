#pragma once
// Finds how an old Estimator was trained, and what it read.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/prepare/migrate/input/csv_lines.h"
#include "cli/prepare/migrate/input/datasets.h"
#include "cli/prepare/migrate/input/parser.h"
#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct MigratedRun {
  std::string model_dir;
  std::string name;
  int64_t global_step = 0;
  std::optional<int64_t> batch_size;
  int64_t replicas = 1;                  // more than 1: trained on a TPU, or as on one
  MigratedOrder order;                   // of the records
  std::vector<std::string> elements;     // features of the iterator's tensors; see IteratorFeatures
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

}  // namespace tpuest::cli
