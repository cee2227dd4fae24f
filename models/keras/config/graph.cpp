#include "models/keras/config/graph.h"

#include <fmt/format.h>

#include <map>

#include "models/keras/config/layers.h"

namespace tpuest {
namespace {

// A tensor as it is written: its layer, and the number of the call as the dialect counts them.
struct WrittenTensor {
  std::string layer;
  int node = 0;
  int output = 0;
  bool in_outputs = false;
  bool is_keras3 = false;
};

constexpr std::string_view kKerasTensor = "__keras_tensor__";
constexpr std::string_view kConstant = "_CONSTANT_VALUE";

bool IsTensorList(const KerasJson& value) {
  return value.is_array() && value.size() >= 3 && value[0].is_string() && value[1].is_number() &&
         value[2].is_number_integer();
}

// The items of a dict as Keras flattens it: by name.
std::map<std::string, const KerasJson*> InOrder(const KerasJson& dict) {
  std::map<std::string, const KerasJson*> items;
  for (const auto& [name, value] : dict.items()) items.emplace(name, &value);
  return items;
}

// The number of a tensor ["layer", node, output] among what the layer gives.
int OutputOf(const KerasJson& tensor) {
  return tensor[2].is_number_integer() ? tensor[2].get<int>() : 0;
}

int FirstNode(const KerasGraphLayer& layer, const WrittenTensor& written) {
  if (!IsKerasModel(layer.class_name)) return 0;
  if (layer.class_name != "Sequential") return written.is_keras3 ? 0 : 1;
  if (written.is_keras3) return 0;
  const KerasJson& layers = MemberOf(layer.config, "layers");
  const bool knew_input =
      layers.is_array() && !layers.empty() && WordOf(layers.front(), "class_name") == "InputLayer";
  return knew_input ? 1 : 0;
}

// Reads the nodes of layers in the dialects of Keras 2 and 3, and numbers the tensors in them.
class CallReader {
 public:
  // `index` has the layers by name, and outlives this object.
  explicit CallReader(const std::map<std::string, size_t>& index) : index_(index) {}

  [[nodiscard]] KerasCall Read(const KerasJson& node) {
    return node.is_object() ? Keras3Call(node) : Keras2Call(node);
  }

  // Adds a tensor, whose `call` is its number among the tensors that were written.
  KerasTensor Add(const WrittenTensor& written) {
    written_.push_back(written);
    return {written.layer, static_cast<int>(written_.size()) - 1, written.output};
  }

  [[nodiscard]] const WrittenTensor& Written(const KerasTensor& tensor) const {
    return written_[static_cast<size_t>(tensor.call)];
  }

 private:
  // [["image", 0, 0, {...}], ...], or flat for an operation: ["image", 0, 0, {...}].
  KerasCall Keras2Call(const KerasJson& node) {
    KerasCall call;
    call.keywords = KerasJson::object();
    if (!node.is_array() || node.empty()) return call;
    const bool is_flat = node[0].is_string();
    const KerasJson rows = is_flat ? KerasJson::array({node}) : node;
    for (const KerasJson& row : rows) {
      if (!row.is_array() || row.size() < 3 || !row[0].is_string() || !row[1].is_number()) {
        RefuseKeras(fmt::format("the node {} cannot be read", row.dump()));
      }
      if (row[0] == std::string(kConstant)) {
        call.constant = row[2];
        call.constant_first = call.inputs.empty();
      } else {
        call.inputs.push_back(Add({row[0], row[1].get<int>(), OutputOf(row)}));
      }
      if (row.size() > 3 && row[3].is_object()) Keywords(row[3], call);
    }
    return call;
  }

  void Keywords(const KerasJson& keywords, KerasCall& call) {
    for (const auto& [key, value] : keywords.items()) {
      if (key == "name" || key == "mask") continue;
      if (IsTensorList(value) && index_.contains(value[0].get<std::string>())) {
        call.inputs.push_back(Add({value[0], value[1].get<int>(), OutputOf(value)}));
      } else if (key == "y" || key == "b" || key == "bias" || key == "value") {
        call.constant = value;
      } else if (key == "x" && call.inputs.empty()) {
        call.constant = value;
        call.constant_first = true;
      } else {
        call.keywords[key] = value;
      }
    }
  }

  // {"args": [...], "kwargs": {...}} with tensors anywhere.
  KerasCall Keras3Call(const KerasJson& node) {
    KerasCall call;
    call.keywords = KerasJson::object();
    for (const KerasJson& argument : MemberOf(node, "args")) Argument(argument, call);
    for (const auto& [key, value] : MemberOf(node, "kwargs").items()) {
      if (key == "mask" || value.is_null()) continue;
      if (WordOf(value, "class_name") == kKerasTensor) {
        Argument(value, call);
      } else {
        call.keywords[key] = value;
      }
    }
    return call;
  }

  void Argument(const KerasJson& argument, KerasCall& call) {
    if (WordOf(argument, "class_name") == kKerasTensor) {
      const KerasJson& history = MemberOf(MemberOf(argument, "config"), "keras_history");
      if (!IsTensorList(history))
        RefuseKeras(fmt::format("the node {} cannot be read", argument.dump()));
      call.inputs.push_back(Add({.layer = history[0],
                                 .node = history[1].get<int>(),
                                 .output = OutputOf(history),
                                 .is_keras3 = true}));
      return;
    }
    const bool holds_tensors = argument.is_array() && !argument.empty() &&
                               WordOf(argument.front(), "class_name") == kKerasTensor;
    const bool is_dict_of_tensors = argument.is_object() && !argument.empty() &&
                                    argument.begin()->is_object() &&
                                    WordOf(*argument.begin(), "class_name") == kKerasTensor;
    if (holds_tensors) {
      for (const KerasJson& item : argument) Argument(item, call);
    } else if (is_dict_of_tensors) {
      for (const auto& [name, item] : InOrder(argument)) Argument(*item, call);
    } else if (!argument.is_null()) {
      call.constant = argument;
      call.constant_first = call.inputs.empty();
    }
  }

  const std::map<std::string, size_t>& index_;
  std::vector<WrittenTensor> written_;
};

// Reads the layers of a model, their calls, and its inputs and outputs.
class GraphReader {
 public:
  explicit GraphReader(const KerasJson& model) : model_(model) {}

  KerasGraph Read() {
    const KerasJson& given = MemberOf(model_, "config");
    // Keras 2.1 and before wrote the layers of a Sequential alone.
    const KerasJson& layers = given.is_array() ? given : MemberOf(given, "layers");
    const std::string class_name = WordOf(model_, "class_name");
    if (!layers.is_array() || !IsKerasModel(class_name)) {
      RefuseKeras(fmt::format("'{}' has no layers: its model is written as a class",
                              class_name.empty() ? "?" : class_name),
                  "export a SavedModel: model: {type: saved_model, path: ...}");
    }
    graph_.is_sequential = class_name == "Sequential";
    for (size_t i = 0; i < layers.size(); ++i) AddLayer(layers[i], i);
    if (graph_.is_sequential) {
      ReadRow();
    } else {
      for (size_t i = 0; i < layers.size(); ++i) ReadCalls(layers[i], i);
      ReadEnds(MemberOf(given, "input_layers"), graph_.inputs);
      ReadEnds(MemberOf(given, "output_layers"), graph_.outputs);
      ReadOutputNames(MemberOf(given, "output_layers"));
    }
    CheckTensors();
    return std::move(graph_);
  }

 private:
  void AddLayer(const KerasJson& layer, size_t number) {
    KerasGraphLayer made;
    made.class_name = WordOf(layer, "class_name");
    made.config = MemberOf(layer, "config");
    made.name = WordOf(layer, "name");
    if (made.name.empty()) made.name = WordOf(made.config, "name");
    if (made.name.empty()) made.name = fmt::format("layer_{}", number);
    if (made.config.is_object()) made.config["name"] = made.name;
    const std::string module = WordOf(layer, "module");
    made.is_operation = module.find(".ops.") != std::string::npos ||
                        (made.config.is_object() && made.config.size() <= 1 &&
                         !layer.contains("module") && HasNodesOfKeras3(layer));
    made.place = fmt::format("layers[{}] '{}'", number, made.name);
    const size_t package = made.class_name.find('>');
    if (package != std::string::npos && made.class_name.starts_with("Keras>")) {
      made.class_name = made.class_name.substr(package + 1);
    }
    if (!index_.emplace(made.name, number).second) {
      RefuseKeras(fmt::format("two layers are called '{}'", made.name));
    }
    graph_.layers.push_back(std::move(made));
  }

  // Keras 3 in an .h5 file says of an operation its name alone, and of a layer its dtype, too.
  static bool HasNodesOfKeras3(const KerasJson& layer) {
    const KerasJson& nodes = MemberOf(layer, "inbound_nodes");
    return nodes.is_array() && !nodes.empty() && nodes.front().is_object();
  }

  // The layers of a Sequential, each on what the one before gives.
  void ReadRow() {
    graph_.has_input_layer =
        !graph_.layers.empty() && graph_.layers.front().class_name == "InputLayer";
    std::string before;
    for (KerasGraphLayer& layer : graph_.layers) {
      KerasCall call;
      if (!before.empty()) call.inputs.push_back({before, 0});
      layer.calls.push_back(std::move(call));
      before = layer.name;
    }
    if (before.empty()) RefuseKeras("the model has no layers");
    if (graph_.has_input_layer) graph_.inputs.push_back({graph_.layers.front().name, 0});
    graph_.outputs.push_back({before, 0});
  }

  void ReadCalls(const KerasJson& layer, size_t number) {
    const KerasJson& nodes = MemberOf(layer, "inbound_nodes");
    KerasGraphLayer& made = graph_.layers[number];
    if (made.class_name == "InputLayer") {
      made.calls.push_back({});
      return;
    }
    if (!nodes.is_array()) return;
    for (const KerasJson& node : nodes) {
      made.calls.push_back(calls_.Read(node));
    }
  }

  // [["image", 0, 0]], ["image", 0, 0], or a dict of those.
  void ReadEnds(const KerasJson& ends, std::vector<KerasTensor>& tensors) {
    if (IsTensorList(ends)) {
      tensors.push_back(calls_.Add({.layer = ends[0],
                                    .node = ends[1].get<int>(),
                                    .output = OutputOf(ends),
                                    .in_outputs = &tensors == &graph_.outputs}));
      return;
    }
    if (ends.is_array()) {
      for (const KerasJson& end : ends) ReadEnds(end, tensors);
    } else if (ends.is_object()) {
      for (const auto& [name, end] : InOrder(ends)) ReadEnds(*end, tensors);
    }
  }

  void ReadOutputNames(const KerasJson& ends) {
    if (!ends.is_object()) return;
    for (const auto& [name, end] : InOrder(ends)) {
      if (!IsTensorList(*end)) RefuseKeras("its outputs are nested dicts or lists");
      graph_.output_names.push_back(name);
    }
  }

  // Resolves the dialect's numbers of calls, which count a nested model's from 1 in Keras 2.
  void Resolve(KerasTensor& tensor) {
    if (graph_.is_sequential) return;
    const WrittenTensor& written = calls_.Written(tensor);
    const auto found = index_.find(tensor.layer);
    if (found == index_.end()) {
      RefuseKeras(
          fmt::format("graph has a loop or a missing layer: there is no '{}'", tensor.layer));
    }
    const KerasGraphLayer& layer = graph_.layers[found->second];
    const auto calls = static_cast<int>(layer.calls.size());
    int call = written.node - FirstNode(layer, written);
    if (calls == 1) call = 0;
    if (call < 0 || call >= calls) {
      RefuseKeras(
          fmt::format("call {} of '{}' is used, but it has {}", written.node, tensor.layer, calls));
    }
    tensor.call = call;
    if (tensor.output == 0 || IsKerasModel(layer.class_name)) return;
    RefuseKeras(
        fmt::format("output {} of '{}' is used, but it has one", tensor.output, tensor.layer));
  }

  void CheckTensors() {
    for (KerasGraphLayer& layer : graph_.layers) {
      for (KerasCall& call : layer.calls) {
        for (KerasTensor& input : call.inputs) Resolve(input);
      }
    }
    for (KerasTensor& input : graph_.inputs) Resolve(input);
    for (KerasTensor& output : graph_.outputs) Resolve(output);
    if (graph_.outputs.empty()) RefuseKeras("the model has no outputs");
  }

  const KerasJson& model_;
  KerasGraph graph_;
  std::map<std::string, size_t> index_;  // of layers, by name
  CallReader calls_{index_};
};

}  // namespace

KerasGraph KerasGraphOf(const KerasJson& model) { return GraphReader(model).Read(); }

}  // namespace tpuest
