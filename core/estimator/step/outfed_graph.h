#pragma once
// A graph on tensors that came out of the device: of a metric_fn, or of a host_call's fn.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace tpuest {

struct OutfedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Value> inputs;                  // placeholders, in the order of the names
  std::map<std::string, Value> placeholders;  // the same by name, with any number of rows
};

// For tensors like these.
[[nodiscard]] OutfedGraph MakeOutfedGraph(const OpRegistry& registry,
                                          const std::map<std::string, Value>& tensors);

// What a program for such tensors is found by: the names; the rows of each, 0 of a scalar.
[[nodiscard]] std::vector<std::string> NamesOf(const std::map<std::string, Value>& tensors);
[[nodiscard]] std::vector<int64_t> RowsOf(std::span<const Tensor> tensors);

// `cut`: all of them have the same rows, those of the global batch.
[[nodiscard]] std::vector<FeedSpec> FeedSpecsOf(const OutfedGraph& graph,
                                                std::span<const Tensor> tensors, bool cut);
[[nodiscard]] StepFeeds FeedsOf(std::span<const Tensor> tensors);

}  // namespace tpuest
