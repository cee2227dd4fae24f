#include "core/graph/write/saver_nodes.h"

#include <algorithm>

#include "core/graph/tensor_name.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// Devices and defaults of tf.compat.v1.train.Saver, so that the nodes are those that it writes.
constexpr std::string_view kCpu = "/device:CPU:0";
constexpr std::string_view kAnyCpu = "/device:CPU:*";
constexpr int kMaxToKeep = 5;
constexpr float kKeepEveryHours = 10000;

// Sorted by name, as the keys of a bundle are: SaveV2 writes them in this order.
std::vector<const Variable*> SavedVariables(const Graph& graph) {
  std::vector<const Variable*> variables;
  for (const auto& variable : graph.variables()) {
    if (!variable->local) variables.push_back(variable.get());
  }
  std::sort(variables.begin(), variables.end(),
            [](const Variable* a, const Variable* b) { return a->name < b->name; });
  return variables;
}

// Writes the nodes under one scope, step by step as Saver's BulkSaverBuilder does: the order of the
// nodes and their names ("Const_1", "Identity_2") are what another saver of TensorFlow would give.
class SaverWriter {
 public:
  SaverWriter(const Graph& graph, NodeNames& names, pb::GraphDef& def)
      : variables_(SavedVariables(graph)), scope_(names.Unique("save")), def_(def) {
    for (const Variable* const variable : variables_) dtypes_.push_back(variable->dtype);
  }

  pb::SaverDef Run() {
    AddFilename();
    AddSave();
    AddRestore();
    pb::SaverDef saver;
    saver.set_filename_tensor_name(Name("Const") + ":0");
    saver.set_save_tensor_name(Name("Identity") + ":0");
    saver.set_restore_op_name(Name("restore_all"));
    saver.set_max_to_keep(kMaxToKeep);
    saver.set_sharded(true);
    saver.set_keep_checkpoint_every_n_hours(kKeepEveryHours);
    saver.set_version(pb::SaverDef::V2);
    return saver;
  }

 private:
  [[nodiscard]] std::string Name(std::string_view name) const {
    return fmt::format("{}/{}", scope_, name);
  }
  // Adds scope/name; inputs are names in the scope, "=x" is the node x outside of it.
  std::string Add(std::string_view op, std::string_view name,
                  const std::vector<std::string>& inputs,
                  std::vector<std::pair<std::string, AttrValue>> attrs, std::string_view device) {
    NodeText node{.op = op, .name = Name(name), .attrs = std::move(attrs), .device = device};
    for (const std::string& input : inputs) {
      const bool control = input.starts_with('^');
      if (input.starts_with('=')) {
        node.inputs.push_back(input.substr(1));
      } else {
        node.inputs.push_back(control ? "^" + Name(input.substr(1)) : Name(input));
      }
    }
    WriteNode(node, *def_.add_node());
    return node.name;
  }
  void Constant(std::string_view name, const Tensor& value, std::string_view device) {
    Add("Const", name, {}, {{"dtype", value.dtype()}, {"value", value}}, device);
  }
  void Text(std::string_view name, const std::string& value, std::string_view device) {
    Constant(name, Tensor::Strings({}, {value}), device);
  }
  // The keys in the checkpoint, and for each the slice of it: "" is the whole tensor.
  void Names(std::string_view op) {
    std::vector<std::string> names;
    for (const Variable* const variable : variables_) names.push_back(variable->name);
    const Shape shape{static_cast<int64_t>(names.size())};
    Constant(fmt::format("{}/tensor_names", op), Tensor::Strings(shape, names), kCpu);
    Constant(fmt::format("{}/shape_and_slices", op),
             Tensor::Strings(shape, std::vector<std::string>(names.size())), kCpu);
  }

  // The prefix: "model" unless "save/Const:0" is fed, as every use of a saver does.
  void AddFilename() {
    Text("filename/input", "model", "");
    Add("PlaceholderWithDefault", "filename", {"filename/input"},
        {{"dtype", DType::kString}, {"shape", Shape()}}, "");
    Add("PlaceholderWithDefault", "Const", {"filename"},
        {{"dtype", DType::kString}, {"shape", Shape()}}, "");
  }

  // Writes one shard in a temporary folder beside the prefix (on s3 under a temporary name instead,
  // which StaticRegexFullMatch selects), and MergeV2Checkpoints gives it the prefix.
  void AddSave() {
    Add("StaticRegexFullMatch", "StaticRegexFullMatch", {"Const"},
        {{"pattern", std::string("^s3://.*")}}, kAnyCpu);
    Text("Const_1", ".part", kAnyCpu);
    Text("Const_2", "_temp/part", kAnyCpu);
    Add("Select", "Select", {"StaticRegexFullMatch", "Const_1", "Const_2"}, {{"T", DType::kString}},
        kAnyCpu);
    Add("StringJoin", "StringJoin", {"Const", "Select"}, {{"N", int64_t{2}}}, kAnyCpu);
    Constant("num_shards", Tensor::Scalar<int32_t>(1), "");
    Constant("ShardedFilename/shard", Tensor::Scalar<int32_t>(0), kCpu);
    Add("ShardedFilename", "ShardedFilename", {"StringJoin", "ShardedFilename/shard", "num_shards"},
        {}, kCpu);
    Names("SaveV2");
    std::vector<std::string> inputs = {"ShardedFilename", "SaveV2/tensor_names",
                                       "SaveV2/shape_and_slices"};
    for (const Variable* const variable : variables_) {
      inputs.push_back("=" + variable->value.name());
    }
    Add("SaveV2", "SaveV2", inputs, {{"dtypes", dtypes_}}, kCpu);
    Add("Identity", "control_dependency", {"ShardedFilename", "^SaveV2"}, {{"T", DType::kString}},
        kCpu);
    Add("Pack", "MergeV2Checkpoints/checkpoint_prefixes",
        {"ShardedFilename", "^control_dependency"}, {{"N", int64_t{1}}, {"T", DType::kString}},
        kCpu);
    Add("MergeV2Checkpoints", "MergeV2Checkpoints",
        {"MergeV2Checkpoints/checkpoint_prefixes", "Const"}, {}, kCpu);
    Add("Identity", "Identity", {"Const", "^MergeV2Checkpoints", "^control_dependency"},
        {{"T", DType::kString}}, kCpu);
  }

  // Reads all tensors with one RestoreV2 and assigns each; "restore_all" waits for all of them.
  void AddRestore() {
    Names("RestoreV2");
    Add("RestoreV2", "RestoreV2", {"Const", "RestoreV2/tensor_names", "RestoreV2/shape_and_slices"},
        {{"dtypes", dtypes_}}, kCpu);
    std::vector<std::string> assigns;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Variable& variable = *variables_[i];
      const std::string value = fmt::format("Identity_{}", i + 1);
      Add("Identity", value, {TensorText("RestoreV2", static_cast<int>(i))},
          {{"T", variable.dtype}}, "");
      const std::string assign =
          i == 0 ? "AssignVariableOp" : fmt::format("AssignVariableOp_{}", i);
      Add("AssignVariableOp", assign, {"=" + variable.handle.name(), value},
          {{"dtype", variable.dtype}}, "");
      assigns.push_back("^" + assign);
    }
    Add("NoOp", "restore_shard", assigns, {}, "");
    Add("NoOp", "restore_all", {"^restore_shard"}, {}, "");
  }

  const std::vector<const Variable*> variables_;
  std::vector<DType> dtypes_;
  const std::string scope_;
  pb::GraphDef& def_;
};

}  // namespace

// The names are TensorFlow's conventions, by which FindInitialValues finds them again: the
// initializer is "<variable>/Assign".
pb::VariableDef WriteVariable(const Variable& variable, pb::GraphDef& graph) {
  const std::string assign = variable.name + "/Assign";
  WriteNode({.op = "VarIsInitializedOp",
             .name = variable.name + "/IsInitialized/VarIsInitializedOp",
             .inputs = {variable.handle.name()}},
            *graph.add_node());
  WriteNode({.op = "AssignVariableOp",
             .name = assign,
             .inputs = {variable.handle.name(), variable.initial_value.name()},
             .attrs = {{"dtype", variable.dtype}}},
            *graph.add_node());
  pb::VariableDef out;
  out.set_variable_name(variable.name + ":0");
  out.set_initializer_name(assign);
  out.set_snapshot_name(variable.value.name() + ":0");
  out.set_is_resource(true);
  out.set_trainable(variable.trainable);
  out.set_initial_value_name(variable.initial_value.name() +
                             (variable.initial_value.index == 0 ? ":0" : ""));
  if (variable.local) {
    out.set_synchronization(pb::VARIABLE_SYNCHRONIZATION_ON_READ);
    out.set_aggregation(pb::VARIABLE_AGGREGATION_SUM);
  }
  return out;
}

pb::SaverDef WriteSaver(const Graph& graph, NodeNames& names, pb::GraphDef& def) {
  return SaverWriter(graph, names, def).Run();
}

}  // namespace tpuest
