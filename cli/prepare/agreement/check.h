#pragma once
// Compares the predictions of a migrated job's model with those of the stored graph, from the same
// checkpoint, on random rows.

#include <cstdint>
#include <string>

#include "cli/job/job_fwd.h"
#include "cli/prepare/migrate/columns/columns.h"
#include "cli/prepare/migrate/model/model.h"
#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct PredictionCheck {
  int64_t rows = 0;      // compared rows; 0: none, see `obstacle`
  std::string obstacle;  // why no rows were compared
  double difference =
      0;  // the largest difference, relative to the largest prediction if that is above 1
  std::string place;  // where it is: "row 12, logits[0]: 0.5 in the graph, 0.75 in the job"

  // False if the job's model and the graph give different predictions.
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
