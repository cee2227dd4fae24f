#pragma once
// Finds the parser of the records in the input_fn of an old Estimator's graph: in the functions of
// its datasets (Dataset.map), or among its nodes. It knows the features by the names that the
// records have.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// A feature of a record, as tf.io.parse_example reads it.
struct ParsedFeature {
  std::string name;
  std::string dtype;           // "float32", "int64", "string"
  bool is_sparse = false;      // a VarLenFeature, without a shape
  std::vector<int64_t> shape;  // -1: as long as the record has it
  std::string default_value;   // YAML; empty: a record must have the feature
};

struct RecordParser {
  std::vector<ParsedFeature> features;
  // The name of the feature that comes last out of the parser's function, where input_fns return
  // the labels; nullopt: it is made of others, or the parser is in no function.
  std::optional<std::string> last;

  [[nodiscard]] const ParsedFeature* Find(const std::string& name) const;
};

// The first parser that tells all its features; nullopt: there is none.
[[nodiscard]] std::optional<RecordParser> FindParser(const SeenGraph& graph);

// The feature in a job: "{type: FixedLenFeature, shape: [2], dtype: int64}".
[[nodiscard]] std::string FeatureText(const ParsedFeature& feature);

// The files that a dataset of the graph's input_fn reads ("TFRecordDataset"); empty: it does not
// say.
[[nodiscard]] std::vector<std::string> FindFiles(const SeenGraph& graph, std::string_view reader);

}  // namespace tpuest::cli
