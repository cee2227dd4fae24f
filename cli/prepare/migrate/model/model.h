#pragma once
// Finds which premade estimator an old Estimator's folder holds, and with what arguments.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/prepare/migrate/columns/columns.h"
#include "cli/prepare/migrate/model/layers.h"
#include "cli/prepare/migrate/optimizers/optimizer.h"

namespace tpuest::cli {

struct MigratedModel {
  std::string type;                 // "DNNClassifier"
  std::vector<MigratedLine> lines;  // lines of `model:`, without its type
  bool labels_are_classes = false;
  bool labels_are_words = false;
  int64_t label_dimension = 1;
  std::optional<std::string> weight = {};    // the feature that weighs examples
  std::optional<size_t> weight_output = {};  // the iterator's tensor that weighs examples
  bool takes_any_feature = false;            // a baseline counts the examples of one
  // A model of layers has its one feature here, and the job's optimizer.
  std::optional<MigratedInput> input = {};
  std::optional<MigratedLine> optimizer = {};
  std::string logits = {};  // the tensor of them; empty: it is not known

  // Adds a line; `unknown` says what about it could not be found out.
  void Add(std::string text, std::string unknown = "") {
    lines.push_back({std::move(text), std::move(unknown)});
  }
};

// The estimator by its variables; nullopt: they belong to no premade estimator with feature
// columns.
[[nodiscard]] std::optional<MigratedModel> FindModel(const SeenGraph& graph,
                                                     const BundleReader& variables,
                                                     const MigratedColumns& columns);

}  // namespace tpuest::cli
