#pragma once
// Runs the forward pass of an old Estimator's stored graph in inference mode, node by node.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/prepare/migrate/graph/nodes.h"
#include "core/graph/graph_nodes.h"
#include "core/graph/op_def.h"
#include "core/graph/read/stored_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

class StoredForward {
 public:
  // The arguments must outlive it. Variables have the values of the checkpoint.
  StoredForward(const SeenGraph& graph, const StoredNodes& nodes, const BundleReader& variables,
                const OpRegistry& registry);

  // Returns the value of a tensor ("logits/BiasAdd:0"), given the values `fed` of other tensors, by
  // "node:0". Dropout passes its input through, and batch normalization uses its moving averages.
  // Error kData that begins with "op X is not supported" for a node that cannot run here.
  [[nodiscard]] Tensor Run(const std::string& tensor, const std::map<std::string, Tensor>& fed);

 private:
  using Tensors = std::vector<Tensor>;

  Tensor ValueOf(const std::string& tensor);
  Tensors Compute(const SeenNode& node);
  [[nodiscard]] Tensors ComputeByEngine(const SeenNode& node, const Tensors& inputs) const;
  // Runs an op on tensors.
  [[nodiscard]] Tensors RunOp(std::string_view op, const Tensors& inputs) const;
  // Runs a node of `graph` whose inputs are constants.
  [[nodiscard]] static Tensors RunNode(Graph& graph, Node& added, const Tensors& inputs);
  struct Table {
    Tensor words;
    Tensor places;
  };
  // Returns the lookup table that a node uses.
  [[nodiscard]] Table TableAt(const SeenNode& node);
  [[nodiscard]] Tensor LookUpAt(const SeenNode& node);
  [[nodiscard]] Tensor Normalized(const SeenNode& node);
  [[nodiscard]] Tensor VariableOf(const SeenNode& handle) const;
  // Returns the slice of a partitioned variable for one of its parts ("w/part_1").
  [[nodiscard]] Tensor PartOf(const std::string& name) const;
  // Returns a moving average of the node's layer, such as "moving_mean"; invalid if it has none.
  [[nodiscard]] Tensor AverageOf(const SeenNode& node, const std::string& what) const;

  const SeenGraph& graph_;
  const StoredNodes& nodes_;
  const BundleReader& variables_;
  const OpRegistry& registry_;
  std::map<std::string, const SeenNode*>
      fills_;                            // the node that fills each table, by the table's name
  std::map<std::string, Tensor> known_;  // by "node:0"
  std::set<std::string> open_;           // nodes being computed
};

}  // namespace tpuest::cli
