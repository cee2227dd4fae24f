#include "core/graph/read/import_passes.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/graph/tensor_name.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

bool IsRefVariable(const pb::NodeDef& node) {
  return node.op() == "VariableV2" || node.op() == "Variable" || node.op() == "TemporaryVariable";
}

// The twin on a resource of each op on a reference. The inputs are the same and in the same order;
// what differs is the type attribute ("dtype" for "T"), and that a twin that writes has no result.
const std::map<std::string_view, std::string_view>& ResourceTwins() {
  static const std::map<std::string_view, std::string_view> twins = {
      {"Assign", "AssignVariableOp"},       {"AssignAdd", "AssignAddVariableOp"},
      {"AssignSub", "AssignSubVariableOp"}, {"ScatterAdd", "ResourceScatterAdd"},
      {"ScatterSub", "ResourceScatterSub"}, {"IsVariableInitialized", "VarIsInitializedOp"}};
  return twins;
}

// A reference is a tensor that names memory: "v:0", or the output of an Assign to v, which is v
// after the write. First variables and writes are found, then each reader is rewritten. A read of a
// write's output becomes a ReadVariableOp that waits for it:
//   was   a = Assign(v, x)              y = Relu(a)
//   is    a = AssignVariableOp(v, x)    a/value = ReadVariableOp(v, ^a)    y = Relu(a/value)
class Rewriter {
 public:
  explicit Rewriter(InlinedGraph& inlined) : inlined_(inlined) {
    for (const pb::NodeDef& node : inlined.graph->node()) {
      names_.insert(node.name());
      if (IsRefVariable(node)) variables_[node.name()] = TypeOfVariable(node);
    }
  }

  void Run() {
    const int nodes = inlined_.graph->node_size();  // those that are added need nothing
    for (int i = 0; i < nodes; ++i) {
      pb::NodeDef& node = *inlined_.graph->mutable_node(i);
      if (node.op() == "PlaceholderWithDefault") MakeIdentity(node);
      if (!variables_.empty()) FindWrite(node);
    }
    if (variables_.empty()) return;
    for (int i = 0; i < nodes; ++i) RewriteNode(i);
    for (std::string& wanted : inlined_.wanted) {
      if (!wanted.starts_with('^')) wanted = Dereferenced(wanted);
    }
  }

 private:
  static pb::DataType TypeOfVariable(const pb::NodeDef& node) {
    const auto found = node.attr().find("dtype");
    return found == node.attr().end() ? pb::DT_INVALID : found->second.type();
  }

  static void MakeIdentity(pb::NodeDef& node) {
    node.set_op("Identity");
    const pb::AttrValue type =
        node.attr().count("dtype") > 0 ? node.attr().at("dtype") : pb::AttrValue();
    node.mutable_attr()->clear();
    (*node.mutable_attr())["T"] = type;
  }

  // An Assign's output is the variable after it.
  void FindWrite(const pb::NodeDef& node) {
    if (!ResourceTwins().contains(node.op()) || node.op() == "IsVariableInitialized") return;
    if (node.input_size() == 0) return;
    const std::string* const variable = VariableOf(node.input(0));
    if (variable != nullptr) writes_[node.name()] = *variable;
  }

  // The variable that a data input is a reference to, or nullptr.
  [[nodiscard]] const std::string* VariableOf(const std::string& input) const {
    if (input.starts_with('^')) return nullptr;
    const std::string node(ParseTensorName(input).node);
    if (const auto write = writes_.find(node); write != writes_.end()) return &write->second;
    const auto found = variables_.find(node);
    return found == variables_.end() ? nullptr : &found->first;
  }

  // Nodes are addressed by number: Dereferenced adds nodes, after which references into the list
  // may dangle.
  void RewriteNode(int at) {
    pb::NodeDef& node = *inlined_.graph->mutable_node(at);
    if (IsRefVariable(node)) return MakeHandle(node);
    const auto twin = ResourceTwins().find(node.op());
    const bool has_twin = twin != ResourceTwins().end() && node.input_size() > 0 &&
                          VariableOf(node.input(0)) != nullptr;
    if (has_twin) {
      MakeTwin(node, std::string(twin->second));
    } else if ((node.op() == "Identity" || node.op() == "RefIdentity") && node.input_size() > 0 &&
               variables_.contains(node.input(0))) {
      node.set_op("ReadVariableOp");
      const pb::DataType type = variables_.at(node.input(0));
      node.mutable_attr()->clear();
      (*node.mutable_attr())["dtype"].set_type(type);
      return;
    }
    for (int i = has_twin ? 1 : 0; i < inlined_.graph->node(at).input_size(); ++i) {
      const std::string input = inlined_.graph->node(at).input(i);
      const std::string read = Dereferenced(input);
      if (read != input) inlined_.graph->mutable_node(at)->set_input(i, read);
    }
  }

  static void MakeHandle(pb::NodeDef& node) {
    node.set_op("VarHandleOp");
    pb::AttrValue& name = (*node.mutable_attr())["shared_name"];
    if (name.s().empty()) name.set_s(node.name());
  }

  void MakeTwin(pb::NodeDef& node, const std::string& op) {
    const std::string variable = *VariableOf(node.input(0));
    // A write whose input is the output of an earlier write waits for that one.
    const std::string before(ParseTensorName(node.input(0)).node);
    if (before != variable) node.add_input("^" + before);
    node.set_input(0, variable);
    node.set_op(op);
    std::map<std::string, pb::AttrValue> kept;
    const auto indices = node.attr().find("Tindices");
    const bool has_indices = op.starts_with("ResourceScatter") && indices != node.attr().end();
    if (has_indices) kept["Tindices"] = indices->second;
    node.mutable_attr()->clear();
    for (const auto& [name, value] : kept) (*node.mutable_attr())[name] = value;
    if (op != "VarIsInitializedOp") {
      (*node.mutable_attr())["dtype"].set_type(variables_.at(variable));
    }
  }

  // Another op's input that is a reference: the value read from it, after the write it came from.
  std::string Dereferenced(const std::string& input) {
    const std::string* const variable = VariableOf(input);
    if (variable == nullptr) return input;
    const std::string source(ParseTensorName(input).node);
    std::string& read = reads_[source];
    if (!read.empty()) return read;
    read = source + "/value";
    for (int i = 1; !names_.insert(read).second; ++i) read = fmt::format("{}/value_{}", source, i);
    pb::NodeDef& node = *inlined_.graph->add_node();
    node.set_name(read);
    node.set_op("ReadVariableOp");
    node.add_input(*variable);
    if (source != *variable) node.add_input("^" + source);
    (*node.mutable_attr())["dtype"].set_type(variables_.at(*variable));
    return read;
  }

  InlinedGraph& inlined_;
  std::set<std::string> names_;
  std::map<std::string, pb::DataType> variables_;  // by node
  std::map<std::string, std::string> writes_;      // node to variable
  std::map<std::string, std::string> reads_;       // by what is read
};

// Tells which nodes write a variable, themselves or before they run. Each node is judged once,
// after all its inputs; in a cycle, which NodeReader refuses later, one of them is judged early.
class Effects {
 public:
  Effects(const pb::GraphDef& graph, const OpRegistry& registry)
      : graph_(graph), registry_(registry), states_(static_cast<size_t>(graph.node_size())) {
    for (int i = 0; i < graph.node_size(); ++i) index_[graph.node(i).name()] = i;
  }

  // False for a name that is no node: a fed tensor's.
  bool Of(std::string_view name) {
    const auto found = index_.find(name);
    if (found == index_.end()) return false;
    Walk(found->second);
    return states_[static_cast<size_t>(found->second)] == State::kWrites;
  }

 private:
  enum class State : char { kUnknown, kOpen, kNone, kWrites };

  void Walk(int root) {
    std::vector<int> stack = {root};
    while (!stack.empty()) {
      const int at = stack.back();
      State& state = states_[static_cast<size_t>(at)];
      if (state == State::kUnknown) {
        state = State::kOpen;
        for (const std::string& input : graph_.node(at).input()) {
          const auto found = index_.find(ParseTensorName(input).node);
          if (found == index_.end()) continue;
          if (states_[static_cast<size_t>(found->second)] == State::kUnknown) {
            stack.push_back(found->second);
          }
        }
        continue;
      }
      stack.pop_back();
      if (state == State::kOpen) state = Judge(graph_.node(at));
    }
  }

  State Judge(const pb::NodeDef& node) {
    if (Writes(node)) return State::kWrites;
    for (const std::string& input : node.input()) {
      const auto found = index_.find(ParseTensorName(input).node);
      if (found == index_.end()) continue;
      if (states_[static_cast<size_t>(found->second)] == State::kWrites) return State::kWrites;
    }
    return State::kNone;
  }

  // An op that is not known here is taken to write the variables that it is given.
  [[nodiscard]] bool Writes(const pb::NodeDef& node) const {
    const RegisteredOp* const op = registry_.Find(node.op());
    if (op != nullptr && !op->def->writes) return false;
    return std::any_of(node.input().begin(), node.input().end(), [&](const std::string& input) {
      const auto found = index_.find(ParseTensorName(input).node);
      return !input.starts_with('^') && found != index_.end() &&
             IsVariable(graph_.node(found->second));
    });
  }

  [[nodiscard]] bool IsVariable(const pb::NodeDef& node) const {
    const RegisteredOp* const op = registry_.Find(node.op());
    return op != nullptr && op->def->source == ValueSource::kVariable;
  }

  const pb::GraphDef& graph_;
  const OpRegistry& registry_;
  std::unordered_map<std::string_view, int> index_;
  std::vector<State> states_;
};

// All is judged before anything is changed: the judgement reads the control inputs that go.
void DropIdleControls(pb::GraphDef& graph, const OpRegistry& registry) {
  std::vector<std::vector<std::string>> kept;
  Effects effects(graph, registry);
  for (const pb::NodeDef& node : graph.node()) {
    std::vector<std::string>& inputs = kept.emplace_back();
    for (const std::string& input : node.input()) {
      const bool idle = input.starts_with('^') && !effects.Of(std::string_view(input).substr(1));
      if (!idle) inputs.push_back(input);
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    const auto& inputs = kept[static_cast<size_t>(i)];
    pb::NodeDef& node = *graph.mutable_node(i);
    if (static_cast<int>(inputs.size()) == node.input_size()) continue;
    node.mutable_input()->Assign(inputs.begin(), inputs.end());
  }
}

}  // namespace

void RewriteNodes(InlinedGraph& inlined) { Rewriter(inlined).Run(); }

void DropIdleNodes(InlinedGraph& inlined, const OpRegistry& registry) {
  pb::GraphDef& graph = *inlined.graph;
  DropIdleControls(graph, registry);
  std::unordered_map<std::string_view, int> index;
  for (int i = 0; i < graph.node_size(); ++i) index[graph.node(i).name()] = i;
  std::vector<char> needed(static_cast<size_t>(graph.node_size()), 0);
  std::vector<int> open;
  const auto need = [&](const std::string& input) {
    const auto found = index.find(ParseTensorName(input).node);
    if (found == index.end() || needed[static_cast<size_t>(found->second)] != 0) return;
    needed[static_cast<size_t>(found->second)] = 1;
    open.push_back(found->second);
  };
  for (const std::string& wanted : inlined.wanted) need(wanted);
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const std::string& input : graph.node(at).input()) need(input);
  }
  pb::GraphDef kept;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (needed[static_cast<size_t>(i)] != 0) kept.add_node()->Swap(graph.mutable_node(i));
  }
  graph.mutable_node()->Swap(kept.mutable_node());
}

}  // namespace tpuest
