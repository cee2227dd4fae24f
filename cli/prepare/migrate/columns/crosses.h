#pragma once
// Finds what a crossed column of an old Estimator's graph crosses.

#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

struct CrossedKey {
  std::string name;        // of the feature, or of the column
  bool is_column = false;  // a categorical column's ids are crossed, not the feature itself
  bool is_number = false;  // the feature is int64, not string
  const SeenNode* bucketize = nullptr;  // of a bucketized column
  std::string tensor;                   // the iterator's that the key is; empty: unknown
};

struct MigratedCross {
  std::vector<CrossedKey> keys;  // as the op hashes them: what is sparse before what is dense
  bool is_known = true;          // the graph tells which key is which
};

// The keys of a SparseCross node of the column of this name, "age_bucketized_X_sex": the names in
// it are sorted, and the graph has none. But features come out of an iterator in the order of their
// names, so that the outputs that a cross reads tell which is which.
[[nodiscard]] MigratedCross FindCross(const SeenGraph& graph, const SeenNode& cross,
                                      const std::string& name);

}  // namespace tpuest::cli
