#include "core/graph/write/one_replica.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// Gives the node these inputs, followed by its control inputs.
void SetInputs(const Node& node, std::vector<std::string> inputs, pb::NodeDef& def) {
  for (int i = static_cast<int>(node.inputs().size()); i < def.input_size(); ++i) {
    inputs.push_back(def.input(i));
  }
  def.clear_input();
  for (const std::string& input : inputs) def.add_input(input);
}

void SetAttr(const std::string& name, const AttrValue& value, pb::NodeDef& def) {
  WriteAttr(value, (*def.mutable_attr())[name]);
}

std::vector<std::string> Copies(const std::string& input, int64_t n) {
  return std::vector<std::string>(static_cast<size_t>(n), input);
}

}  // namespace

std::string OneReplica::Add(NodeText node) {
  node.name = names_.Unique(node.name);
  WriteNode(node, *graph_.add_node());
  return node.name;
}

void OneReplica::Write(Node& node, pb::NodeDef& def) {
  if (node.type() == "_OfReplica") {
    def.set_op("Identity");
    def.mutable_attr()->erase("replica");
  } else if (node.type() == "CrossReplicaSum") {
    const int64_t replicas = ConstantValue(node.input(1)).shape().dim(1);
    def.set_op("AddN");
    SetInputs(node, Copies(def.input(0), replicas), def);
    SetAttr("N", replicas, def);
  } else if (node.type() == "_GatherRowsOfReplicas") {
    WriteGather(node, def);
  } else if (node.type() == "_SumRowsOfReplicas") {
    WriteSumOfRows(node, def);
  }
}

void OneReplica::WriteGather(Node& node, pb::NodeDef& def) {
  const int64_t replicas = node.Attr<int64_t>("replicas");
  const std::string axis =
      Add({.op = "Const",
           .name = node.name() + "/axis",
           .attrs = {{"dtype", DType::kInt32}, {"value", Tensor::Of<int32_t>({}, {0})}}});
  const auto copies = [&](int input) {
    std::vector<std::string> inputs = Copies(def.input(input), replicas);
    inputs.push_back(axis);
    return inputs;
  };
  const auto attrs = [&](int input) {
    return std::vector<std::pair<std::string, AttrValue>>{
        {"N", replicas}, {"T", node.input(input).dtype()}, {"Tidx", DType::kInt32}};
  };
  tensor_names_[node.output(0)] = Add(
      {.op = "ConcatV2", .name = node.name() + "/indices", .inputs = copies(0), .attrs = attrs(0)});
  tensor_names_[node.output(1)] = node.name();
  def.set_op("ConcatV2");
  SetInputs(node, copies(1), def);
  def.clear_attr();
  for (const auto& [name, value] : attrs(1)) SetAttr(name, value, def);
}

void OneReplica::WriteSumOfRows(Node& node, pb::NodeDef& def) {
  const DType index = node.input(0).dtype();
  const std::string rows = Add({.op = "Unique",
                                .name = node.name() + "/Unique",
                                .inputs = {def.input(0)},
                                .attrs = {{"T", index}, {"out_idx", DType::kInt32}}});
  const std::string count = Add({.op = "Size",
                                 .name = node.name() + "/Size",
                                 .inputs = {rows},
                                 .attrs = {{"T", index}, {"out_type", DType::kInt32}}});
  tensor_names_[node.output(0)] = rows;
  tensor_names_[node.output(1)] = node.name();
  def.set_op("UnsortedSegmentSum");
  SetInputs(node, {def.input(1), rows + ":1", count}, def);
  def.clear_attr();
  SetAttr("T", node.input(1).dtype(), def);
  SetAttr("Tindices", DType::kInt32, def);
  SetAttr("Tnumsegments", DType::kInt32, def);
}

}  // namespace tpuest
