#pragma once
// A SeenGraph shows the nodes of a graph that another program wrote, unchanged; its ops may be
// unknown to tpuest.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

struct SeenNode {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;      // "node", "node:1", "^control"
  std::map<std::string, int64_t> ints;  // integers; true is 1; dtypes by TensorFlow's number
  std::map<std::string, std::vector<int64_t>> int_lists;  // dtypes by TensorFlow's number
  std::map<std::string, std::string> strings;
  std::map<std::string, std::vector<std::string>> string_lists;
  std::map<std::string, std::vector<Shape>> shapes;   // lists; a single shape is a list of one
  std::map<std::string, std::vector<double>> floats;  // lists; a single number is a list of one
  std::map<std::string, std::string> functions;       // names of the functions that it calls
  std::optional<Tensor> value;                        // for a Const of a known dtype
};

struct SeenFunction;

class SeenGraph {
 public:
  SeenGraph() = default;
  // Reads a GraphDef (graph.pbtxt, *.pb) or a checkpoint's MetaGraph (*.meta). Throws Error kData
  // for a file in neither format.
  explicit SeenGraph(const std::string& path);

  [[nodiscard]] const std::vector<SeenNode>& nodes() const { return nodes_; }
  // The functions that the graph's nodes call, in the file's order: a Dataset.map's function, a
  // loop's body.
  [[nodiscard]] const std::vector<SeenFunction>& functions() const { return functions_; }
  // Returns the function of this name, or nullptr.
  [[nodiscard]] const SeenFunction* FindFunction(const std::string& name) const;
  // Returns the node of this name, or the node that has an output of this name, or nullptr.
  [[nodiscard]] const SeenNode* Find(const std::string& tensor) const;
  // Returns the nodes of an op below a scope ("head/losses"; "": everywhere), in the file's order.
  [[nodiscard]] std::vector<const SeenNode*> Below(const std::string& scope,
                                                   const std::string& op) const;
  // Returns the constant at an input of a node, through Identity nodes; nullopt if it is not a
  // constant.
  [[nodiscard]] std::optional<Tensor> ConstantAt(const SeenNode& node, size_t input) const;

 private:
  void Add(SeenNode node);

  std::vector<SeenNode> nodes_;
  std::map<std::string, size_t> by_name_;
  std::vector<SeenFunction> functions_;
};

// A function of a graph. Its tensors are "node:output:0" or the name of an argument.
struct SeenFunction {
  std::string name;
  std::vector<std::string> arguments;  // argument names
  std::vector<std::string> results;    // tensors, in the order of the signature
  SeenGraph body;
};

}  // namespace tpuest
