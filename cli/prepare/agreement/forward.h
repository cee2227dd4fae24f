#pragma once
// Runs the stored graph of an old Estimator forwards, in inference mode, one node after another.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/prepare/migrate/nodes.h"
#include "core/graph/graph_nodes.h"
#include "core/graph/op_def.h"
#include "core/graph/read/stored_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

class StoredForward {
 public:
  // The arguments outlive it. Variables have the values of the checkpoint.
  StoredForward(const SeenGraph& graph, const StoredNodes& nodes, const BundleReader& variables,
                const OpRegistry& registry);

  // The value of a tensor ("logits/BiasAdd:0") where `fed` stands in for others, by "node:0".
  // Dropout hands on its input, and batch normalization takes its moving averages. Error kData that
  // begins with "op X is not known" for a node that cannot run here.
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
  // The table that a node looks at.
  [[nodiscard]] Table TableAt(const SeenNode& node);
  [[nodiscard]] Tensor LookUpAt(const SeenNode& node);
  [[nodiscard]] Tensor Normalized(const SeenNode& node);
  [[nodiscard]] Tensor VariableOf(const SeenNode& handle) const;
  // The slice that a partitioned variable's part ("w/part_1") has of the whole.
  [[nodiscard]] Tensor PartOf(const std::string& name) const;
  // A moving average of the layer that this node is of, the "moving_mean"; invalid if it has none.
  [[nodiscard]] Tensor AverageOf(const SeenNode& node, const std::string& what) const;

  const SeenGraph& graph_;
  const StoredNodes& nodes_;
  const BundleReader& variables_;
  const OpRegistry& registry_;
  std::map<std::string, const SeenNode*> fills_;  // what fills each table, by the table's name
  std::map<std::string, Tensor> known_;           // by "node:0"
  std::set<std::string> open_;                    // nodes that are computed now
};

}  // namespace tpuest::cli
