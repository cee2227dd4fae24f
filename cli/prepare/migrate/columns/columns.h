#pragma once
// Finds the feature columns of an old Estimator's graph by what their nodes do.

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
  int64_t size = 1;               // number of values in an example
  // The values that its columns distinguish: words, numbers and boundaries, numbers below
  // `categories`.
  std::vector<std::string> words = {};
  std::vector<double> numbers = {};
  int64_t categories = 0;
  bool is_number = false;  // a numeric column reads it
};

struct MigratedColumns {
  std::map<std::string, std::string> columns;  // YAML by name in the job: "{type: ...}"
  std::map<std::string, MigratedFeature> features;
  std::vector<std::string> linear;  // columns that the linear model takes, by name
  std::vector<std::string> dnn;
  std::string sparse_combiner = "sum";  // of the linear model
  std::vector<std::string> unknown;     // a sentence on each thing that could not be found out
};

// The columns of the variables below linear/linear_model and of the nodes below
// dnn/input_from_feature_columns/input_layer. `unknown` tells what is not understood.
[[nodiscard]] MigratedColumns FindColumns(const SeenGraph& graph, const BundleReader& variables);

}  // namespace tpuest::cli
