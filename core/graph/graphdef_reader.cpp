#include <charconv>
#include <map>

#include "core/graph/graphdef.h"
#include "core/graph/node_def.h"
#include "core/io/proto.h"

namespace tpuest {
namespace {

class GraphReader {
 public:
  GraphReader(const pb::GraphDef& def, Graph& graph) : def_(def), graph_(graph) {}

  void Run() {
    for (const pb::NodeDef& node : def_.node()) {
      if (!by_name_.emplace(node.name(), &node).second) {
        throw Error(Code::kData, fmt::format("two nodes are called '{}'", node.name()));
      }
    }
    for (const pb::NodeDef& node : def_.node()) Add(node);
  }

 private:
  // Adds the node after all its inputs; an explicit stack, since graphs are deep.
  void Add(const pb::NodeDef& wanted) {
    std::vector<const pb::NodeDef*> stack = {&wanted};
    while (!stack.empty()) {
      const pb::NodeDef& node = *stack.back();
      const pb::NodeDef* const missing = FirstMissingInput(node);
      if (missing == nullptr) {
        AddReady(node);
        open_.erase(&node);
        stack.pop_back();
        continue;
      }
      open_[&node] = true;
      if (open_.contains(missing)) {
        throw Error(Code::kData, fmt::format("'{}' depends on itself", missing->name()));
      }
      stack.push_back(missing);
    }
  }

  const pb::NodeDef* FirstMissingInput(const pb::NodeDef& node) {
    for (const std::string& input : node.input()) {
      const std::string name = NodeName(input);
      if (graph_.FindNode(name) != nullptr) continue;
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        throw Error(Code::kData, fmt::format("{} '{}' reads '{}', which is no node of the graph",
                                             node.op(), node.name(), input));
      }
      return found->second;
    }
    return nullptr;
  }

  static std::string NodeName(const std::string& input) {
    const size_t begin = input.starts_with('^') ? 1 : 0;
    return input.substr(begin, input.find(':') - begin);
  }

  void AddReady(const pb::NodeDef& node) {
    if (graph_.FindNode(node.name()) != nullptr) return;
    const RegisteredOp* const op = graph_.registry().Find(node.op());
    if (op == nullptr) {
      throw Error(Code::kData,
                  fmt::format("node '{}': there is no op {} here", node.name(), node.op()));
    }
    std::vector<Value> inputs;
    std::vector<Node*> controls;
    for (const std::string& input : node.input()) {
      Node* const source = graph_.FindNode(NodeName(input));
      if (input.starts_with('^')) {
        controls.push_back(source);
      } else {
        inputs.push_back({source, OutputIndex(node, input, *source)});
      }
    }
    Attrs attrs;
    for (const auto& [name, value] : node.attr()) {
      const AttrDef* const def = op->signature.FindAttr(name);
      if (def == nullptr) continue;  // "_class", "_output_shapes": notes of other programs
      attrs[name] = ReadAttr(node, name, def->type);
    }
    Node* const added = graph_.AddNamedNode(node.op(), inputs, attrs, node.name(), {});
    for (Node* const control : controls) added->AddControlInput(control);
  }

  static int OutputIndex(const pb::NodeDef& node, const std::string& input, const Node& source) {
    int index = 0;
    if (const size_t colon = input.find(':'); colon != std::string::npos) {
      std::from_chars(input.data() + colon + 1, input.data() + input.size(), index);
    }
    if (index < 0 || index >= source.outputs()) {
      throw Error(Code::kData,
                  fmt::format("{} '{}' reads '{}', but {} '{}' has {} outputs", node.op(),
                              node.name(), input, source.type(), source.name(), source.outputs()));
    }
    return index;
  }

  const pb::GraphDef& def_;
  Graph& graph_;
  std::map<std::string, const pb::NodeDef*> by_name_;
  std::map<const pb::NodeDef*, bool> open_;
};

}  // namespace

void FromGraphDef(std::string_view serialized, Graph& graph) {
  pb::GraphDef def;
  FromBytes(serialized, def, "GraphDef", Code::kData);
  GraphReader(def, graph).Run();
}

}  // namespace tpuest
