#include "core/graph/read/node_reader.h"

#include <new>

#include "core/graph/read/attr_reader.h"
#include "core/graph/tensor_name.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// Graph's own errors speak of a job (kUsage); here the fault is the file's (kData), and its place
// the node.
[[noreturn]] void Rethrow(const pb::NodeDef& node, const Error& error) {
  std::vector<Fault> faults = error.faults();
  faults.front().message = fmt::format("node '{}': {}", node.name(), error.message());
  throw Error(Code::kData, std::move(faults));
}

Attrs ReadAttrs(const pb::NodeDef& node, const Signature& signature) {
  Attrs attrs;
  for (const auto& [name, value] : node.attr()) {
    const AttrDef* const def = signature.FindAttr(name);
    if (def == nullptr) continue;  // "_class", "_output_shapes": notes of other programs
    attrs[name] = ReadAttr(node, name, def->type);
  }
  return attrs;
}

// A Const's dtype says what its readers get, its value what memory there is: a file in which they
// differ would have a kernel read past the end.
void CheckConstant(const Attrs& attrs) {
  const auto value = attrs.find("value");
  const auto dtype = attrs.find("dtype");
  if (value == attrs.end() || dtype == attrs.end()) return;  // told as missing
  const DType found = std::get<Tensor>(value->second).dtype();
  const DType expected = std::get<DType>(dtype->second);
  if (found == expected) return;
  throw Error(Code::kData,
              fmt::format("its value is {}, but its dtype is {}", NameOf(found), NameOf(expected)));
}

}  // namespace

void NodeReader::Run() {
  for (const pb::NodeDef& node : def_.node()) {
    if (!by_name_.emplace(node.name(), &node).second) {
      throw Error(Code::kData, fmt::format("two nodes are called '{}'", node.name()));
    }
  }
  for (const pb::NodeDef& node : def_.node()) {
    if (!read_.contains(node.name())) Add(node);
  }
}

// Adds the node after all its inputs, with an explicit stack, since graphs are deep. The nodes on
// the stack are those in open_: meeting one of them again is a cycle.
void NodeReader::Add(const pb::NodeDef& wanted) {
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
    if (open_.contains(missing)) {
      throw Error(Code::kData, fmt::format("node '{}' depends on itself", missing->name()));
    }
    stack.push_back(missing);
  }
}

// open_ remembers how far the inputs were looked at, so that a node with many inputs is looked at
// once an input and not once for each pair.
const pb::NodeDef* NodeReader::FirstMissingInput(const pb::NodeDef& node) {
  int& next = open_[&node];
  for (; next < node.input_size(); ++next) {
    if (const pb::NodeDef* const missing = Missing(node, node.input(next))) return missing;
  }
  const auto also = options_.also.find(node.name());
  return also == options_.also.end() ? nullptr : Missing(node, also->second);
}

const pb::NodeDef* NodeReader::Missing(const pb::NodeDef& node, const std::string& input) const {
  const TensorName name = ParseTensorName(input);
  const std::string source(name.node);
  if (read_.contains(source)) return nullptr;
  if (options_.fed.contains(fmt::format("{}:{}", source, name.index))) return nullptr;
  const auto found = by_name_.find(source);
  if (found == by_name_.end()) {
    throw Error(Code::kData,
                fmt::format("node '{}' ({}) reads '{}', which is not a node of the graph",
                            node.name(), node.op(), input));
  }
  return found->second;
}

void NodeReader::AddReady(const pb::NodeDef& node) {
  std::vector<Value> inputs;
  std::vector<Node*> controls;
  for (const std::string& input : node.input()) {
    if (!input.starts_with('^')) {
      inputs.push_back(Input(node, input));
      continue;
    }
    const auto found = read_.find(input.substr(1));
    if (found != read_.end() && found->second.node != nullptr) {
      controls.push_back(found->second.node);
    }
  }
  ReadNode made;
  if (options_.make && options_.make(node, inputs, made)) {
    read_[node.name()] = std::move(made);
    return;
  }
  made.node = MakeNode(node, std::move(inputs));
  for (Node* const control : controls) made.node->AddControlInput(control);
  for (int i = 0; i < made.node->outputs(); ++i) made.outputs.push_back(made.node->output(i));
  read_[node.name()] = std::move(made);
}

Node* NodeReader::MakeNode(const pb::NodeDef& node, std::vector<Value> inputs) {
  const RegisteredOp* const op = graph_.registry().Find(node.op());
  // Ops whose names begin with '_' occur only in graphs that are made here, whose shapes fit.
  if (op == nullptr || node.op().starts_with('_')) {
    throw Error(Code::kData, fmt::format("node '{}' needs op {}, which tpuest does not support",
                                         node.name(), node.op()));
  }
  try {
    Attrs attrs = ReadAttrs(node, op->signature);
    if (node.op() == "Const") CheckConstant(attrs);
    if (options_.exact_names) {
      return graph_.AddNamedNode(node.op(), std::move(inputs), std::move(attrs), node.name(), {});
    }
    return graph_.AddNode(node.op(), std::move(inputs), std::move(attrs), node.name());
  } catch (const Error& error) {
    Rethrow(node, error);
  } catch (const std::bad_alloc&) {
    throw;  // the machine's fault, not the file's
  } catch (const std::exception&) {
    // A rule of the op's met what no program that builds graphs would write.
    throw Error(Code::kData,
                fmt::format("node '{}': the inputs and attributes of this {} do not fit together",
                            node.name(), node.op()));
  }
}

Value NodeReader::Input(const pb::NodeDef& node, const std::string& input) const {
  const TensorName name = ParseTensorName(input);
  const std::string source(name.node);
  const auto fed = options_.fed.find(fmt::format("{}:{}", source, name.index));
  if (fed != options_.fed.end()) return fed->second;
  const std::vector<Value>& outputs = read_.at(source).outputs;
  if (name.index < 0 || name.index >= static_cast<int>(outputs.size())) {
    throw Error(Code::kData, fmt::format("node '{}' ({}) reads '{}', but '{}' has {} outputs",
                                         node.name(), node.op(), input, source, outputs.size()));
  }
  return outputs[static_cast<size_t>(name.index)];
}

Value NodeReader::ValueOf(const std::string& tensor) const {
  const TensorName name = ParseTensorName(tensor);
  const std::string source(name.node);
  const auto fed = options_.fed.find(fmt::format("{}:{}", source, name.index));
  if (fed != options_.fed.end()) return fed->second;
  const auto found = read_.find(source);
  if (found != read_.end()) {
    const ReadNode& read = found->second;
    if (read.outputs.empty() && read.node != nullptr && name.index == 0) return {read.node, 0};
    if (name.index >= 0 && name.index < static_cast<int>(read.outputs.size())) {
      return read.outputs[static_cast<size_t>(name.index)];
    }
  }
  throw Error(Code::kData, fmt::format("the graph has no tensor '{}'", tensor));
}

}  // namespace tpuest
