#pragma once
// The nodes with which TensorFlow writes summaries; tpuest writes their events without them. For
// .cpp files of core/graph.

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/write/node_def.h"

namespace tpuest {

// Values by tag, as tf.summary takes them.
struct GraphSummaries {
  std::map<std::string, Value> scalars;  // []
  // [batch, ...] each: "<name>/fraction_of_zero_values" and "<name>/activation".
  std::map<std::string, Value> activations;
  std::map<std::string, Value> histograms;
};

// Adds tf.compat.v1.summary's nodes to `graph` and returns their names, for the collection
// "summaries".
[[nodiscard]] std::vector<std::string> WriteSummaries(const GraphSummaries& summaries,
                                                      NodeNames& names, pb::GraphDef& graph);

}  // namespace tpuest
