#pragma once
// Finds what splits lines of CSV in the input_fn of an old Estimator's graph: DecodeCSV in the
// function of its one Dataset.map, or the dataset of make_csv_dataset before that map. The map
// returns a dict of features and the label. Such a graph has no names for the columns; those of the
// features are known by the feature columns, and stand in the dict's order, which is that of their
// names.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

struct CsvLineColumn {
  std::string name;           // empty: no feature column reads it, and it is not the label
  std::string dtype;          // "float32", "string"
  std::string default_value;  // YAML; empty: a line must have a value
};

struct CsvLines {
  std::vector<CsvLineColumn> columns;  // of a line, in its order
  std::vector<size_t> read;            // of make_csv_dataset: the columns that it reads
  bool selects = false;                // the lines may have further columns after these
  std::optional<size_t> label;         // the column that the label is, or is made of
  std::string label_op;                // what makes the label of it; empty: it is the column
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value;
  int64_t skip = 0;  // lines at the beginning of a file
};

// The features by the tensors of the iterator, of which there are `tensors` with the label: all
// that there are, in the order of their names, or those whose readers tell it. nullopt: neither.
[[nodiscard]] std::optional<std::map<size_t, std::string>> FeatureOutputs(
    const SeenGraph& graph, size_t tensors, const std::set<std::string>& features);

// The lines' columns, of which `features` are read; nullopt where the graph takes none apart, or
// where it does not tell which feature is which column.
[[nodiscard]] std::optional<CsvLines> FindCsvLines(const SeenGraph& graph,
                                                   const std::set<std::string>& features);

}  // namespace tpuest::cli
