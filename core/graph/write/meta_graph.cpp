#include "core/graph/write/meta_graph.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/cut.h"
#include "core/graph/write/map_function.h"
#include "core/graph/write/node_def.h"
#include "core/graph/write/one_replica.h"
#include "core/graph/write/saver_nodes.h"
#include "core/graph/write/tables.h"
#include "core/graph/write/tpu_call.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

constexpr int kFunctionsConsumer = 12;  // readers older than this do not know functions

// Writes one MetaGraphDef. The order of its steps is that of the nodes in the file, and so of names
// made unique: first the call of a TPU, whose results replace values in all that follows
// (tensor_names_), then the graph's own nodes, then those around the variables, the saver last.
class MetaGraphWriter {
 public:
  // Writes into an empty `meta`.
  MetaGraphWriter(const MetaGraphSpec& spec, pb::MetaGraphDef& meta)
      : spec_(spec),
        graph_(spec.graph),
        names_(spec.graph),
        meta_(meta),
        def_(*meta.mutable_graph_def()),
        one_replica_(names_, def_, tensor_names_) {}

  void Run() {
    for (const std::string& tag : spec_.tags) meta_.mutable_meta_info_def()->add_tags(tag);
    meta_.mutable_meta_info_def()->set_stripped_default_attrs(spec_.strip_default_attrs);
    if (spec_.tpu) AddTpuCall();
    AddNodes();
    AddVariables();
    AddInitialisers();
    *meta_.mutable_saver_def() = WriteSaver(graph_, names_, def_);
    AddTraining();
    for (const std::string& name : WriteSummaries(spec_.summaries, names_, def_)) {
      Collection("summaries").mutable_node_list()->add_value(name + ":0");
    }
    for (const auto& [key, signature] : spec_.signatures) AddSignature(key, signature);
    for (const ExportAsset& asset : spec_.assets) {
      pb::AssetFileDef& file = *meta_.add_asset_file_def();
      file.mutable_tensor_info()->set_name(TensorName(asset.path));
      file.set_filename(asset.filename);
    }
    WriteGraphVersions(def_);
    if (spec_.tpu) def_.mutable_versions()->set_min_consumer(kFunctionsConsumer);
  }

 private:
  std::vector<Value> Fetches() const {
    std::vector<Value> fetches;
    for (const auto& [key, signature] : spec_.signatures) {
      for (const auto& [name, value] : signature.inputs) fetches.push_back(value);
      for (const auto& [name, value] : signature.outputs) fetches.push_back(value);
    }
    return fetches;
  }

  // The call's results stand for the values inside it, and of the graph's own nodes only those are
  // kept that something outside of the call needs: signatures, arguments of the call, variables
  // with their initial values, and the tables' initializers (the second NeededNodes, since which
  // tables are used is known only after the first).
  void AddTpuCall() {
    const std::vector<Value> fetches = Fetches();
    std::vector<Value> wanted = fetches;
    wanted.insert(wanted.end(), spec_.tpu->results.begin(), spec_.tpu->results.end());
    cluster_ = FindTpuCluster(graph_, *spec_.tpu, wanted);
    TpuInference call = *spec_.tpu;
    std::erase_if(call.results, [&](const Value& value) {
      return !cluster_.inside[static_cast<size_t>(value.node->id())];
    });
    AddWhatLeaves(wanted, call.results);
    const TpuCall written =
        WriteTpuCall(graph_, call, cluster_, spec_.strip_default_attrs, names_, def_);
    // A result that comes twice is known by its last place: TPUEstimator gives the predictions
    // first, and a signature's tensors are the later ones.
    for (size_t i = 0; i < call.results.size(); ++i) {
      tensor_names_[call.results[i]] = written.results[i];
    }
    std::vector<Value> outer = fetches;
    outer.insert(outer.end(), written.captured.begin(), written.captured.end());
    for (const auto& variable : graph_.variables()) {
      outer.insert(outer.end(), {variable->value, variable->initial_value});
    }
    std::vector<Value> called = call.results;
    kept_ = NeededNodes(graph_, outer, {}, called);
    kept_ = NeededNodes(graph_, outer, TableInitializers(graph_, kept_), called);
  }

  // Values that are computed in the call and read, or wanted, outside of it.
  void AddWhatLeaves(const std::vector<Value>& wanted, std::vector<Value>& results) const {
    const auto inside = [&](const Node& node) {
      return cluster_.inside[static_cast<size_t>(node.id())] != 0;
    };
    const auto leaves = [&](const Value& value) {
      if (!inside(*value.node)) return;
      if (std::find(results.begin(), results.end(), value) == results.end()) {
        results.push_back(value);
      }
    };
    std::for_each(wanted.begin(), wanted.end(), leaves);
    const std::vector<char> needed = NeededNodes(graph_, wanted, {}, {});
    for (const auto& node : graph_.nodes()) {
      if (!needed[static_cast<size_t>(node->id())] || inside(*node)) continue;
      std::for_each(node->inputs().begin(), node->inputs().end(), leaves);
    }
  }

  [[nodiscard]] std::string TensorName(const Value& value) const {
    const auto named = tensor_names_.find(value);
    const std::string name = named == tensor_names_.end() ? value.name() : named->second;
    return name.find(':') == std::string::npos ? name + ":0" : name;
  }

  void AddNodes() {
    for (const auto& node : graph_.nodes()) {
      if (!kept_.empty() && !kept_[static_cast<size_t>(node->id())]) continue;
      AddNode(*node);
    }
  }

  // Writes the node, with its inputs renamed to the call's. With reads_per_use, each input that is
  // a variable's value becomes a separate ReadVariableOp before the node.
  void AddNode(Node& node) {
    pb::NodeDef def;
    WriteNode(node, def);
    WriteMapFunction(node, def_);
    if (spec_.strip_default_attrs) StripDefaultAttrs(node, def);
    WriteOutputShapes(node, def);
    for (const ExportAsset& asset : spec_.assets) {
      // The original path does not matter: a loader feeds its own path.
      if (asset.path.node == &node) {
        WriteAttr(Tensor::Strings({}, {asset.filename}), (*def.mutable_attr())["value"]);
      }
    }
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const Value& input = node.input(i);
      const auto named = tensor_names_.find(input);
      if (named != tensor_names_.end()) def.set_input(i, named->second);
      const Variable* const variable = spec_.reads_per_use ? graph_.VariableOf(input) : nullptr;
      if (variable != nullptr && variable->value == input) {
        def.set_input(i, AddRead(*variable, node));
      }
    }
    one_replica_.Write(node, def);
    *def_.add_node() = std::move(def);
  }

  // A copy of the variable's read, named as a layer of TensorFlow's names it.
  std::string AddRead(const Variable& variable, const Node& reader) {
    pb::NodeDef& def = *def_.add_node();
    WriteNode(*variable.value.node, def);
    def.set_name(names_.Unique(reader.name() + "/ReadVariableOp"));
    WriteOutputShapes(*variable.value.node, def);
    return def.name();
  }

  pb::CollectionDef& Collection(const std::string& name) {
    return (*meta_.mutable_collection_def())[name];
  }
  void AddVariable(const std::string& collection, const std::string& bytes) {
    Collection(collection).mutable_bytes_list()->add_value(bytes);
  }

  // TensorFlow finds variables by these collections only; a metric's sums are local and in no
  // checkpoint.
  void AddVariables() {
    for (const auto& variable : graph_.variables()) {
      const std::string bytes = ToBytes(WriteVariable(*variable, def_));
      if (variable->local) {
        AddVariable("local_variables", bytes);
        AddVariable("metric_variables", bytes);
        continue;
      }
      AddVariable("variables", bytes);
      if (variable->trainable) AddVariable("trainable_variables", bytes);
      if (variable->name == "global_step") AddVariable("global_step", bytes);
    }
  }

  std::string AddNoOp(const std::string& name, const std::vector<std::string>& controls) {
    NodeText node{.op = "NoOp", .name = names_.Unique(name)};
    for (const std::string& control : controls) node.inputs.push_back("^" + control);
    WriteNode(node, *def_.add_node());
    return node.name;
  }

  // Adds what a loader runs once after the variables are restored: local variables, tables.
  void AddInitialisers() {
    std::vector<std::string> assigns;
    for (const auto& variable : graph_.variables()) {
      if (variable->local) assigns.push_back(variable->name + "/Assign");
    }
    const std::string init = AddNoOp("init", assigns);
    std::vector<std::string> initializers;
    for (const Node* const node : TableInitializers(graph_, kept_)) {
      Collection("table_initializer").mutable_node_list()->add_value(node->name());
      initializers.push_back(node->name());
    }
    const std::string tables = AddNoOp("init_all_tables", initializers);
    const std::string others = AddNoOp("init", {});
    const std::string group = AddNoOp("group_deps", {init, others, tables});
    Collection("saved_model_main_op").mutable_node_list()->add_value(group);
  }

  void AddTraining() {
    if (spec_.loss.valid()) {
      Collection("losses").mutable_node_list()->add_value(TensorName(spec_.loss));
    }
    if (spec_.train_op == nullptr) return;
    // Both collections: a loader looks for the second, older tools for the first.
    Collection("train_op").mutable_node_list()->add_value(spec_.train_op->name());
    Collection("saved_model_train_op").mutable_node_list()->add_value(spec_.train_op->name());
  }

  [[nodiscard]] pb::TensorInfo InfoOf(const Value& value) const {
    pb::TensorInfo info;
    info.set_name(TensorName(value));
    info.set_dtype(TypeOf(value.dtype()));
    // TensorFlow knows no shape of what a call gives.
    const bool called = tensor_names_.contains(value);
    ToProto(called ? Shape::UnknownRank() : value.shape(), *info.mutable_tensor_shape());
    return info;
  }

  void AddSignature(const std::string& key, const ExportSignature& signature) {
    pb::SignatureDef& def = (*meta_.mutable_signature_def())[key];
    def.set_method_name(signature.method_name);
    for (const auto& [name, value] : signature.inputs)
      (*def.mutable_inputs())[name] = InfoOf(value);
    for (const auto& [name, value] : signature.outputs) {
      (*def.mutable_outputs())[name] = InfoOf(value);
    }
  }

  const MetaGraphSpec& spec_;
  const Graph& graph_;
  NodeNames names_;
  pb::MetaGraphDef& meta_;
  pb::GraphDef& def_;
  TpuCluster cluster_;
  std::map<Value, std::string> tensor_names_;  // of what a TPU call, or several nodes, give
  OneReplica one_replica_;
  std::vector<char> kept_;  // by id; empty: all
};

}  // namespace

std::string ToMetaGraphDef(const MetaGraphSpec& spec) {
  google::protobuf::Arena arena;
  auto* const meta = google::protobuf::Arena::CreateMessage<pb::MetaGraphDef>(&arena);
  MetaGraphWriter(spec, *meta).Run();
  return ToBytes(*meta);
}

std::string ToSavedModel(const std::vector<MetaGraphSpec>& meta_graphs, bool as_text) {
  google::protobuf::Arena arena;
  auto& model = *google::protobuf::Arena::CreateMessage<pb::SavedModel>(&arena);
  model.set_saved_model_schema_version(1);
  for (const MetaGraphSpec& spec : meta_graphs) {
    MetaGraphWriter(spec, *model.add_meta_graphs()).Run();
  }
  return as_text ? ToText(model) : ToBytes(model);
}

}  // namespace tpuest
