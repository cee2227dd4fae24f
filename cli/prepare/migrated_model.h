#pragma once
// Which premade estimator an old Estimator's folder holds, and with what arguments.

#include <optional>
#include <string>
#include <vector>

#include "cli/prepare/migrated_columns.h"

namespace tpuest::cli {

struct MigratedLine {
  std::string text;     // "n_classes: 3"
  std::string unknown;  // what could not be found out about it; empty: nothing
};

struct MigratedModel {
  std::string type;                 // "DNNClassifier"
  std::vector<MigratedLine> lines;  // of `model:`, without its type
  bool labels_are_classes = false;
  bool labels_are_words = false;
  int64_t label_dimension = 1;
};

// nullopt: the variables are of no premade estimator with feature columns.
[[nodiscard]] std::optional<MigratedModel> FindModel(const SeenGraph& graph,
                                                     const BundleReader& variables,
                                                     const MigratedColumns& columns);

}  // namespace tpuest::cli
