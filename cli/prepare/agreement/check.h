#pragma once
// Compares the predictions of a migrated job's model with those of the stored graph, from the same
// checkpoint, on random rows.

#include <cstdint>
#include <string>

#include "cli/job/job_fwd.h"
#include "cli/prepare/migrate/columns.h"
#include "cli/prepare/migrate/model.h"
#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct PredictionCheck {
  int64_t rows = 0;       // that were compared; 0: none, see `obstacle`
  std::string obstacle;   // the reason why none were
  double difference = 0;  // the largest, absolute or of the largest prediction where it is above 1
  std::string place;      // where it is: "row 12, logits[0]: 0.5 in the graph, 0.75 in the job"

  // False where the job's model predicts something else than the graph.
  [[nodiscard]] bool agrees() const;
};

struct PredictionCheckArgs {
  const Job& job;
  const SeenGraph& graph;
  const std::string& graph_file;
  const BundleReader& variables;
  const MigratedModel& model;
  const MigratedColumns& columns;
};

[[nodiscard]] PredictionCheck CheckPredictions(const PredictionCheckArgs& args);

}  // namespace tpuest::cli
