#include "core/graph/read/saved_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/graph/read/graph_import.h"
#include "core/io/bundle.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/saved_model_folder.h"
#include "core/tensor/limits.h"

namespace tpuest {
namespace {

constexpr int64_t kSchemaVersion = 1;

DType KnownDType(pb::DataType type) {
  const auto dtype = static_cast<DType>(type);
  return NameOf(dtype) == NameOf(DType::kInvalid) ? DType::kInvalid : dtype;
}

SignatureTensor TensorOf(const pb::TensorInfo& info) {
  SignatureTensor tensor{info.name(), KnownDType(info.dtype()), FromProto(info.tensor_shape())};
  if (IsCountable(tensor.shape)) return tensor;
  throw Error(Code::kData, fmt::format("the shape of a signature's tensor '{}' is too large: {}",
                                       info.name(), tensor.shape.Text()));
}

MetaGraphInfo InfoOf(const pb::MetaGraphDef& meta) {
  MetaGraphInfo info;
  info.tags = {meta.meta_info_def().tags().begin(), meta.meta_info_def().tags().end()};
  for (const pb::NodeDef& node : meta.graph_def().node()) ++info.ops[node.op()];
  for (const pb::FunctionDef& function : meta.graph_def().library().function()) {
    for (const pb::NodeDef& node : function.node_def()) ++info.ops[node.op()];
  }
  for (const auto& [key, signature] : meta.signature_def()) {
    SignatureInfo& out = info.signatures[key];
    out.method_name = signature.method_name();
    for (const auto& [name, tensor] : signature.inputs()) out.inputs[name] = TensorOf(tensor);
    for (const auto& [name, tensor] : signature.outputs()) out.outputs[name] = TensorOf(tensor);
  }
  return info;
}

template <class Map>
std::string Keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys.empty() ? "none" : Join(keys, ", ");
}

// Fed tensors are looked up as "node:0", never as "node".
std::string WithIndex(const std::string& tensor) {
  return tensor.find(':') == std::string::npos ? tensor + ":0" : tensor;
}

// The message begins as SavedModelEstimator's.
void CheckGiven(const std::string& what, const SignatureTensor& expected, const Value& given) {
  if (expected.dtype == given.dtype() && Compatible(expected.shape, given.shape())) return;
  throw Error(Code::kData,
              fmt::format("Tensor shape and/or dtype validation failed for {}: expected {} {}, got "
                          "{} {}",
                          what, NameOf(expected.dtype), expected.shape.Text(),
                          NameOf(given.dtype()), given.shape().Text()));
}

const SignatureInfo& FindSignature(const MetaGraphInfo& meta_graph, std::string_view name) {
  const auto found = meta_graph.signatures.find(std::string(name));
  if (found != meta_graph.signatures.end()) return found->second;
  throw Error(Code::kData,
              fmt::format("the MetaGraph with tags '{}' has no signature '{}'",
                          Join(meta_graph.tags, ","), name),
              "there are: " + Keys(meta_graph.signatures));
}

}  // namespace

struct SavedModel::State {
  std::string folder;  // empty: a GraphDef without variables or assets
  pb::SavedModel proto;
  std::vector<MetaGraphInfo> infos;
  std::unique_ptr<BundleReader> bundle;  // opened when a variable is needed

  // infos and proto.meta_graphs go in step, so an info's position finds its MetaGraph.
  [[nodiscard]] const pb::MetaGraphDef& ProtoOf(const MetaGraphInfo& info) const {
    const auto at = static_cast<int>(&info - infos.data());
    Check(at >= 0 && at < proto.meta_graphs_size(), "the MetaGraph belongs to another SavedModel");
    return proto.meta_graphs(at);
  }

  void Describe() {
    for (const pb::MetaGraphDef& meta : proto.meta_graphs()) infos.push_back(InfoOf(meta));
  }

  const BundleReader* Bundle() {
    if (bundle == nullptr && !folder.empty()) {
      bundle = std::make_unique<BundleReader>(SavedModelVariables(folder));
    }
    return bundle.get();
  }
};

SavedModel::SavedModel(std::string folder) : state_(std::make_unique<State>()) {
  state_->folder = std::move(folder);
  const std::string binary = SavedModelPath(state_->folder, false);
  const std::string text = SavedModelPath(state_->folder, true);
  if (FileExists(binary)) {
    FromBytes(ReadFile(binary), state_->proto, binary, Code::kData);
  } else if (FileExists(text)) {
    FromText(ReadFile(text), state_->proto, text, Code::kData);
  } else {
    throw Error(Code::kData,
                fmt::format("SavedModel file does not exist at: {}/{{{}|{}}}", state_->folder,
                            SavedModelName(true), SavedModelName(false)));
  }
  if (state_->proto.saved_model_schema_version() > kSchemaVersion ||
      state_->proto.meta_graphs_size() == 0) {
    throw Error(Code::kData, fmt::format("{}: not a SavedModel of schema {} with a MetaGraph",
                                         state_->folder, kSchemaVersion));
  }
  state_->Describe();
}

SavedModel::SavedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SavedModel::~SavedModel() = default;
SavedModel::SavedModel(SavedModel&&) noexcept = default;
SavedModel& SavedModel::operator=(SavedModel&&) noexcept = default;

SavedModel SavedModel::FromGraphDefFile(const std::string& path) {
  auto state = std::make_unique<State>();
  pb::GraphDef& graph = *state->proto.add_meta_graphs()->mutable_graph_def();
  if (path.ends_with(".pbtxt")) {
    FromText(ReadFile(path), graph, path, Code::kData);
  } else {
    FromBytes(ReadFile(path), graph, path, Code::kData);
  }
  if (graph.node_size() == 0) {
    throw Error(Code::kData, fmt::format("{}: not a GraphDef: it contains no node", path));
  }
  state->Describe();
  return SavedModel(std::move(state));
}

const std::string& SavedModel::folder() const { return state_->folder; }
const std::vector<MetaGraphInfo>& SavedModel::meta_graphs() const { return state_->infos; }

const MetaGraphInfo* SavedModel::FindOrNull(const std::vector<std::string>& tags) const {
  const std::set<std::string> wanted(tags.begin(), tags.end());
  for (const MetaGraphInfo& info : state_->infos) {
    if (std::set<std::string>(info.tags.begin(), info.tags.end()) == wanted) return &info;
  }
  return nullptr;
}

const MetaGraphInfo& SavedModel::Find(const std::vector<std::string>& tags) const {
  if (const MetaGraphInfo* const found = FindOrNull(tags)) return *found;
  std::vector<std::string> there;
  for (const MetaGraphInfo& info : state_->infos) {
    there.push_back(fmt::format("'{}'", Join(info.tags, ",")));
  }
  throw Error(Code::kData,
              fmt::format("MetaGraphDef associated with tags '{}' could not be found in SavedModel "
                          "{}",
                          Join(tags, ","), state_->folder),
              "available tags: " + Join(there, ", "));
}

// Looks for the file first: a SavedModel without variables has no variables folder, and that is no
// fault.
std::optional<int64_t> SavedModel::GlobalStep() const {
  if (!FileExists(BundleIndexPath(SavedModelVariables(state_->folder)))) return {};
  const BundleReader* const bundle = state_->Bundle();
  if (bundle == nullptr || !bundle->Has("global_step")) return {};
  const Tensor step = bundle->Read("global_step");
  if (step.dtype() != DType::kInt64 || step.elements() != 1) return {};
  return *step.data<int64_t>();
}

std::vector<Value> SavedModel::ImportTensors(const MetaGraphInfo& meta_graph,
                                             const std::map<std::string, Value>& given,
                                             const std::vector<std::string>& tensors,
                                             Graph& graph) const {
  ImportRequest request{.meta = state_->ProtoOf(meta_graph),
                        .folder = state_->folder,
                        .bundle = [this] { return state_->Bundle(); },
                        .tensors = tensors};
  for (const auto& [name, value] : given) request.given[WithIndex(name)] = value;
  return ImportMetaGraph(request, graph);
}

std::map<std::string, Value> SavedModel::Import(const MetaGraphInfo& meta_graph,
                                                std::string_view signature,
                                                const std::map<std::string, Value>& inputs,
                                                Graph& graph) const {
  const SignatureInfo& info = FindSignature(meta_graph, signature);
  std::map<std::string, Value> given;
  for (const auto& [key, tensor] : info.inputs) {
    const auto found = inputs.find(key);
    if (found == inputs.end()) {
      throw Error(Code::kData, fmt::format("signature '{}' needs its input '{}'", signature, key),
                  "its inputs: " + Keys(info.inputs));
    }
    CheckGiven(fmt::format("input {}", key), tensor, found->second);
    given[tensor.name] = found->second;
  }
  for (const auto& [key, value] : inputs) {
    if (info.inputs.contains(key)) continue;
    throw Error(Code::kData, fmt::format("signature '{}' has no input '{}'", signature, key),
                "its inputs: " + Keys(info.inputs));
  }
  std::vector<std::string> tensors;
  for (const auto& [key, tensor] : info.outputs) {
    if (tensor.name.empty()) {
      throw Error(Code::kData, fmt::format("output '{}' of signature '{}' is not a dense tensor",
                                           key, signature));
    }
    tensors.push_back(tensor.name);
  }
  const std::vector<Value> values = ImportTensors(meta_graph, given, tensors, graph);
  std::map<std::string, Value> outputs;
  for (const auto& [key, tensor] : info.outputs) outputs[key] = values[outputs.size()];
  return outputs;
}

}  // namespace tpuest
