#pragma once
// The feature columns of an old Estimator's graph, recognised by what their nodes do.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// A feature that the input must have.
struct MigratedFeature {
  std::string dtype = "float32";  // "string", "int64"
  int64_t size = 1;               // values of an example
};

struct MigratedColumns {
  std::map<std::string, std::string> columns;  // name in the job to its YAML: "{type: ...}"
  std::map<std::string, MigratedFeature> features;
  std::vector<std::string> linear;  // names that the models take
  std::vector<std::string> dnn;
  std::vector<std::string> unknown;  // what could not be found out, a sentence each
};

// Of the variables below linear/linear_model and the nodes below
// dnn/input_from_feature_columns/input_layer.
[[nodiscard]] MigratedColumns FindColumns(const SeenGraph& graph, const BundleReader& variables);

}  // namespace tpuest::cli
