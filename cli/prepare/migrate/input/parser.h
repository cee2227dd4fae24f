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

// The features of an op that parses, in the order of its attributes and results.
struct ParserKeys {
  std::vector<std::string> sparse;
  std::vector<std::string> dense;
  size_t defaults = 0;  // the input that is the first dense feature's default
};

// nullopt for another op, or if a name is no constant.
[[nodiscard]] std::optional<ParserKeys> ParserKeysOf(const SeenGraph& graph, const SeenNode& node);

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
