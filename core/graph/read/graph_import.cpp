#include "core/graph/read/graph_import.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/graph/read/attr_reader.h"
#include "core/graph/read/function_inliner.h"
#include "core/graph/read/import_passes.h"
#include "core/graph/read/node_reader.h"
#include "core/graph/read/table_source.h"
#include "core/graph/read/variable_source.h"
#include "core/graph/tensor_name.h"
#include "core/graph/write/node_def.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/saved_model_folder.h"

namespace tpuest {
namespace {

constexpr std::string_view kObjectSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";
constexpr std::string_view kAssetsCollection = "saved_model_assets";

// TensorFlow 1 lists them in a collection and leaves the MetaGraph's own list empty, as its loader
// reads them.
std::vector<pb::AssetFileDef> AssetsOf(const pb::MetaGraphDef& meta) {
  if (meta.asset_file_def_size() > 0) {
    return {meta.asset_file_def().begin(), meta.asset_file_def().end()};
  }
  std::vector<pb::AssetFileDef> assets;
  const auto listed = meta.collection_def().find(std::string(kAssetsCollection));
  if (listed == meta.collection_def().end()) return assets;
  for (const auto& packed : listed->second.any_list().value()) {
    if (!packed.type_url().ends_with("/tensorflow.AssetFileDef")) continue;
    FromBytes(packed.value(), assets.emplace_back(),
              fmt::format("collection '{}'", kAssetsCollection), Code::kData);
  }
  return assets;
}

// The path of an asset, which is below the model's folder.
std::string AssetPath(const std::string& folder, const std::string& filename) {
  const std::vector<std::string> steps = Split(filename, '/');
  const bool leaves = filename.empty() || filename.front() == '/' ||
                      std::find(steps.begin(), steps.end(), "..") != steps.end();
  if (leaves) {
    throw Error(
        Code::kData,
        fmt::format("{}: its asset '{}' is not a file below {}/", folder, filename, kAssets),
        "export the model again: a SavedModel contains its files in its own folder");
  }
  return JoinPath(JoinPath(folder, kAssets), filename);
}

// Imports in three rounds. First the GraphDef is flattened until every variable in it has a source
// (FindSources): an initializer that has to be computed becomes wanted itself, and may need further
// variables, hence the loop, which ends because each handle is looked at once. Then assets become
// constants. Then NodeReader adds nodes, and asks Make first: handles, reads and text variables are
// not copied but become Variables of the graph.
class Importer {
 public:
  Importer(const ImportRequest& request, Graph& graph) : request_(request), graph_(graph) {}

  std::vector<Value> Run() {
    InlineRequest inline_request{.wanted = request_.tensors};
    for (const auto& [name, value] : request_.given) inline_request.fed.insert(name);
    InlinedGraph inlined = Inline(inline_request);
    // Initializers may read further variables.
    while (FindSources(inlined, inline_request)) inlined = Inline(inline_request);
    FillAssets(*inlined.graph);

    NodeReaderOptions options{
        .fed = request_.given,
        .also = initial_,
        .make = [this](const pb::NodeDef& node, const std::vector<Value>& inputs, ReadNode& made) {
          return Make(node, inputs, made);
        }};
    NodeReader reader(*inlined.graph, graph_, options);
    reader_ = &reader;
    reader.Run();
    std::vector<Value> values;
    for (size_t i = 0; i < request_.tensors.size(); ++i) {
      values.push_back(reader.ValueOf(inlined.wanted[i]));
    }
    return values;
  }

 private:
  InlinedGraph Inline(const InlineRequest& request) const {
    InlinedGraph inlined = InlineWithTables(request_.meta, graph_.registry(), request);
    RewriteNodes(inlined);
    DropIdleNodes(inlined, graph_.registry());
    return inlined;
  }

  // The variable's name: what its sessions call it.
  static std::string NameOfVariable(const pb::NodeDef& handle) {
    const auto found = handle.attr().find("shared_name");
    const bool named = found != handle.attr().end() && !found->second.s().empty();
    return named ? found->second.s() : handle.name();
  }

  // Finds the source of each variable's value: the checkpoint, if it has one, otherwise the
  // initializer. Returns true if an initializer is needed that `request` does not name yet.
  bool FindSources(const InlinedGraph& inlined, InlineRequest& request) {
    bool added = false;
    for (const pb::NodeDef& node : inlined.graph->node()) {
      if (node.op() != "VarHandleOp" || !seen_.insert(node.name()).second) continue;
      if (graph_.FindVariable(NameOfVariable(node)) != nullptr) continue;
      if (auto tensor = StoredFor(node)) {
        stored_[node.name()] = *std::move(tensor);
        continue;
      }
      initial_[node.name()] = InitialFor(node);
      request.wanted.push_back(initial_[node.name()]);
      added = true;
    }
    return added;
  }

  // The saver's restore graph knows the key best (objects, slices); without a saver the key is the
  // variable's name, or its node's in graphs that gave no shared_name.
  std::optional<StoredTensor> StoredFor(const pb::NodeDef& node) {
    const BundleReader* const bundle = Bundle();
    if (bundle == nullptr) return {};
    if (!restored_) restored_ = FindStoredTensors(request_.meta, graph_.registry());
    if (const auto found = restored_->find(node.name()); found != restored_->end()) {
      return found->second;
    }
    for (const std::string& name : {NameOfVariable(node), node.name()}) {
      if (bundle->Has(name)) return StoredTensor{name, ""};
    }
    return {};
  }

  const std::string& InitialFor(const pb::NodeDef& node) {
    if (!initializers_) initializers_ = FindInitialValues(request_.meta);
    const auto found = initializers_->find(node.name());
    if (found != initializers_->end()) return found->second;
    throw Error(Code::kCheckpoint,
                fmt::format("{} has no value of the variable '{}', which the graph needs, and no "
                            "initializer for it",
                            bundle_ != nullptr ? bundle_->prefix() : "the file", node.name()));
  }

  const BundleReader* Bundle() {
    if (bundle_ == nullptr && request_.bundle) bundle_ = request_.bundle();
    return bundle_;
  }

  // An asset's tensor is the path of the file beside the graph.
  void FillAssets(pb::GraphDef& graph) const {
    std::map<std::string, std::string> paths;
    for (const pb::AssetFileDef& asset : AssetsOf(request_.meta)) {
      const std::string node(ParseTensorName(asset.tensor_info().name()).node);
      paths[node] = AssetPath(request_.folder, asset.filename());
    }
    if (paths.empty()) return;
    for (pb::NodeDef& node : *graph.mutable_node()) {
      const auto found = paths.find(node.name());
      if (found == paths.end()) continue;
      node.set_op("Const");
      node.clear_attr();
      node.clear_input();
      const Tensor path = Tensor::Strings(Shape(), {found->second});
      WriteAttr(path, (*node.mutable_attr())["value"]);
      WriteAttr(DType::kString, (*node.mutable_attr())["dtype"]);
    }
  }

  bool Make(const pb::NodeDef& node, const std::vector<Value>& inputs, ReadNode& made) {
    if (node.op() == "VarHandleOp") {
      const Value text = ConstantText(node);
      made.outputs = {text.valid() ? text : MakeVariable(node)->handle};
      made.node = made.outputs[0].node;
      return true;
    }
    // All reads of a variable at the start of a step are one node.
    if (node.op() != "ReadVariableOp" || node.input_size() != 1 || inputs.size() != 1) return false;
    if (inputs[0].dtype() == DType::kString) {
      made.outputs = inputs;
      made.node = inputs[0].node;
      return true;
    }
    const Variable* const variable = graph_.VariableOf(inputs[0]);
    if (variable == nullptr || variable->handle != inputs[0]) return false;
    made.outputs = {variable->value};
    made.node = variable->value.node;
    return true;
  }

  // TensorFlow 2 keeps the paths of assets in string variables, which nothing but their initializer
  // writes. Returns that constant, which takes the variable's place, or an invalid Value.
  [[nodiscard]] Value ConstantText(const pb::NodeDef& node) const {
    const auto initial = initial_.find(node.name());
    if (initial == initial_.end()) return {};
    const Value value = reader_->ValueOf(initial->second);
    return value.dtype() == DType::kString && ConstantValue(value).valid() ? value : Value();
  }

  // A variable that the graph has already (global_step, one that two signatures share) is used; one
  // without a stored value starts from its initializer and is local: it was not saved there, so it
  // is not saved here.
  Variable* MakeVariable(const pb::NodeDef& node) {
    const std::string name = NameOfVariable(node);
    const DType dtype = AttrOr<DType>(node, "dtype", "type", DType::kInvalid);
    const Shape shape = AttrOr<Shape>(node, "shape", "shape", Shape::UnknownRank());
    if (Variable* const there = graph_.FindVariable(name)) {
      CheckFits(node, dtype, shape, there->dtype, there->shape, "but the graph's is");
      return there;
    }
    const auto stored = stored_.find(node.name());
    if (stored == stored_.end()) {
      const Value initial = reader_->ValueOf(initial_.at(node.name()));
      CheckFits(node, dtype, shape, initial.dtype(), initial.shape(), "but its initializer is");
      const Shape& whole = shape.fully_known() ? shape : initial.shape();
      if (!whole.fully_known()) {
        throw Error(Code::kData,
                    fmt::format("node '{}': the shape of the variable is unknown", node.name()));
      }
      return graph_.AddVariable(name, dtype, whole, initial,
                                {.trainable = false, .local = true, .object_path = ""});
    }
    const Tensor value = ReadStored(*bundle_, stored->second);
    CheckFits(node, dtype, shape, value.dtype(), value.shape(), "but its stored value is");
    VariableOptions options;
    options.trainable = IsTrainable(node, dtype);
    const std::string& key = stored->second.key;
    if (key.ends_with(kObjectSuffix)) {
      options.object_path = key.substr(0, key.size() - kObjectSuffix.size());
    }
    const Value initial = graph_.Constant(value, node.name() + "/Initializer/stored");
    return graph_.AddVariable(name, dtype, value.shape(), initial, options);
  }

  template <class T>
  static T AttrOr(const pb::NodeDef& node, const std::string& name, const std::string& type,
                  T fallback) {
    if (!node.attr().contains(name)) return fallback;
    return std::get<T>(ReadAttr(node, name, type));
  }

  static void CheckFits(const pb::NodeDef& node, DType dtype, const Shape& shape, DType found_dtype,
                        const Shape& found, std::string_view what) {
    if (dtype == found_dtype && Compatible(shape, found)) return;
    throw Error(Code::kCheckpoint,
                fmt::format("variable '{}' is {} {}, {} {} {}", node.name(), NameOf(dtype),
                            shape.Text(), what, NameOf(found_dtype), found.Text()));
  }

  // The collection trainable_variables decides if it exists (read once); otherwise floating
  // variables are trained.
  bool IsTrainable(const pb::NodeDef& node, DType dtype) {
    if (!trainable_) {
      trainable_.emplace();
      const auto found = request_.meta.collection_def().find("trainable_variables");
      if (found != request_.meta.collection_def().end()) {
        for (const std::string& bytes : found->second.bytes_list().value()) {
          pb::VariableDef variable;
          FromBytes(bytes, variable, "collection trainable_variables", Code::kData);
          trainable_->insert(std::string(ParseTensorName(variable.variable_name()).node));
        }
      }
    }
    return trainable_->empty() ? IsFloating(dtype) : trainable_->contains(node.name());
  }

  const ImportRequest& request_;
  Graph& graph_;
  const BundleReader* bundle_ = nullptr;
  NodeReader* reader_ = nullptr;
  std::set<std::string> seen_;                  // handles whose source is known
  std::map<std::string, StoredTensor> stored_;  // by handle
  std::map<std::string, std::string> initial_;  // likewise
  std::optional<std::map<std::string, StoredTensor>> restored_;
  std::optional<std::map<std::string, std::string>> initializers_;
  std::optional<std::set<std::string>> trainable_;
};

}  // namespace

std::vector<Value> ImportMetaGraph(const ImportRequest& request, Graph& graph) {
  return Importer(request, graph).Run();
}

}  // namespace tpuest
