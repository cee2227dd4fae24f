#pragma once
// Finds the order in which an old Estimator's input_fn read its records: the datasets between the
// files and the batch, as stages of a job.

#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// One stage of a job: the key "shuffle" with the value "64".
struct MigratedStage {
  std::string key;
  std::string value;  // YAML
};

struct MigratedOrder {
  std::vector<MigratedStage> stages;  // from the files to the batch
  std::vector<std::string> unsaid;    // a sentence per dataset that a job cannot have
  bool is_known = false;              // the graph names every dataset from the file to the batch

  // True if the keys `shuffle` and `repeat` of an input_fn are enough.
  [[nodiscard]] bool IsPlain() const;
};

[[nodiscard]] MigratedOrder FindOrder(const SeenGraph& graph);

}  // namespace tpuest::cli
