#pragma once
// Finds where a MetaGraph's variables get their values from; for .cpp files of core/graph.

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "core/io/bundle.h"

namespace tpuest::pb {
class MetaGraphDef;
}  // namespace tpuest::pb

namespace tpuest {

struct StoredTensor {
  std::string key;    // in the tensor bundle
  std::string slice;  // for a partitioned variable "4 6 0,4:0,3"; empty: the whole tensor
};

// Maps each variable's handle node to the tensor that the saver's restore graph assigns to it.
// Empty if there is no saver.
[[nodiscard]] std::map<std::string, StoredTensor> FindStoredTensors(const pb::MetaGraphDef& meta,
                                                                    const OpRegistry& registry);

// Reads the tensor or its slice. Throws Error kCheckpoint if it is missing, damaged, or has no such
// slice.
[[nodiscard]] Tensor ReadStored(const BundleReader& bundle, const StoredTensor& stored);

// Maps each variable's handle node to the tensor ("zeros:0") that initializes it if no checkpoint
// holds its value. Read from the collections of variables, or from a node "<variable>/Assign".
[[nodiscard]] std::map<std::string, std::string> FindInitialValues(const pb::MetaGraphDef& meta);

}  // namespace tpuest
