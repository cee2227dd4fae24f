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
  std::string slice;  // "4 6 0,4:0,3", of a partitioned variable; empty: the whole tensor
};

// Maps the node of a variable's handle to the tensor that the saver's restore graph assigns to it.
// Empty if there is no saver.
[[nodiscard]] std::map<std::string, StoredTensor> FindStoredTensors(const pb::MetaGraphDef& meta,
                                                                    const OpRegistry& registry);

// The tensor, or the slice of it. Error kCheckpoint if it is not there, is damaged, or has no such
// slice.
[[nodiscard]] Tensor ReadStored(const BundleReader& bundle, const StoredTensor& stored);

// Maps the node of a variable's handle to the tensor ("zeros:0") that it starts with where no
// checkpoint holds it, as the collections of variables tell, or a node "<variable>/Assign".
[[nodiscard]] std::map<std::string, std::string> FindInitialValues(const pb::MetaGraphDef& meta);

}  // namespace tpuest
