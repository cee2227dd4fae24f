#pragma once
// Finds the nodes of an old Estimator's graph that belong to a feature column.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// The nodes of one column.
using ColumnNodes = std::vector<const SeenNode*>;

// The scopes of the linear model's variables and of the network's columns.
inline constexpr std::string_view kLinearModel = "linear/linear_model/";
inline constexpr std::string_view kDnnInputLayer = "dnn/input_from_feature_columns/input_layer/";

// Return the first node of this op, and with this ending of its name; nullptr if there is none.
[[nodiscard]] const SeenNode* FindOp(const ColumnNodes& nodes, std::string_view op);
[[nodiscard]] const SeenNode* FindNamed(const ColumnNodes& nodes, std::string_view ending,
                                        std::string_view op);

// Finds a column's nodes in a graph, and the sizes of what they read.
class ColumnGraph {
 public:
  // `graph` outlives it.
  explicit ColumnGraph(const SeenGraph& graph);

  [[nodiscard]] const SeenGraph& graph() const { return graph_; }

  // Returns the nodes in the scope of a column of the linear model.
  [[nodiscard]] ColumnNodes OfLinear(const std::string& column) const;
  // Returns the nodes of the network's columns by scope: a column's name, with _1 for its second
  // use.
  [[nodiscard]] std::map<std::string, ColumnNodes> DnnScopes() const;
  // Adds all nodes that these depend on, back to the input, and those that fill their tables. A
  // column shares nodes with an earlier column, in whose scope they are.
  [[nodiscard]] ColumnNodes WithSources(ColumnNodes nodes) const;

  // False if the graph updates other variables but not this one.
  [[nodiscard]] bool IsTrained(const std::string& variable) const;

  // Returns the number of values per example in a tensor, by its shape in the graph; 0 if unknown.
  [[nodiscard]] int64_t SizeIn(const std::string& tensor) const;
  // Returns the size of the only feature that the nodes read; 1 if they read several.
  [[nodiscard]] int64_t ReadSize(const ColumnNodes& nodes) const;
  // Returns the number of values per example that a Bucketize node takes; 1 if unknown.
  [[nodiscard]] int64_t BucketizedSize(const SeenNode& node) const;

 private:
  const SeenGraph& graph_;
  std::map<std::string, const SeenNode*> fills_;  // table fillers by the table's name
};

}  // namespace tpuest::cli
