#pragma once
// Object-based checkpoints (tf.train.Checkpoint, Keras) store a variable under its path through the
// objects that hold it, "net/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE", and the objects beside them
// as a graph (TensorFlow's trackable_object_graph.proto), the tensor
// "_CHECKPOINTABLE_OBJECT_GRAPH". A reader walks from object to object by the names of references;
// the keys themselves mean nothing.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/bundle.h"

namespace tpuest {

struct ObjectGraph {
  struct Child {
    std::string name;
    int node = 0;
  };
  // An optimizer's value for a variable ("momentum").
  struct Slot {
    int variable = 0;  // node
    std::string name;
    int node = 0;
  };
  struct Node {
    std::vector<Child> children;
    std::string full_name;    // for a variable: its name in a name-based checkpoint
    std::string key;          // for a variable: the tensor that holds it; otherwise ""
    std::vector<Slot> slots;  // for an optimizer

    // The node that the reference of this name leads to, or nullopt.
    [[nodiscard]] std::optional<int> Find(std::string_view name) const;
  };

  std::vector<Node> nodes;  // the root is the first

  [[nodiscard]] const Node& at(int node) const { return nodes[static_cast<size_t>(node)]; }
  Node& at(int node) { return nodes[static_cast<size_t>(node)]; }
  // The node at the path "a/b" below `from`.
  [[nodiscard]] std::optional<int> Walk(int from, std::string_view path) const;
};

inline constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

// Returns nullopt for a name-based checkpoint. Checks that the graph has a root and that all node
// numbers are valid. Throws kCheckpoint for a damaged graph.
[[nodiscard]] std::optional<ObjectGraph> ReadObjectGraph(const BundleReader& bundle);
// Returns the tensor to store under kObjectGraphKey: a string scalar with the encoded graph.
[[nodiscard]] Tensor ObjectGraphTensor(const ObjectGraph& graph);

// TensorFlow's key of the variable that these names lead to from the root:
// "model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE". A "." in a name becomes ".." and a "/" becomes
// ".S".
[[nodiscard]] std::string VariableKey(const std::vector<std::string>& names);
// TensorFlow's key of a variable's slot in the optimizer at `optimizer`:
// "model/dense/kernel/.OPTIMIZER_SLOT/optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE".
[[nodiscard]] std::string SlotKey(const std::vector<std::string>& variable,
                                  const std::vector<std::string>& optimizer, std::string_view slot);

}  // namespace tpuest
