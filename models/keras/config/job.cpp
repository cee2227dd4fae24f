#include "models/keras/config/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/faults.h"
#include "core/base/text.h"
#include "models/keras/config/compile.h"
#include "models/keras/config/graph.h"
#include "models/keras/config/layers.h"
#include "models/keras/config/values.h"

namespace tpuest {
namespace {

// A model's layers as items of a job.
struct Written {
  KerasJson layers = KerasJson::array();
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;        // the job's names of what it gives
  std::vector<std::string> output_layers;  // Keras' names of the layers
  std::vector<std::string> output_names;   // those of a dict; else the layers'
};

class ModelsOfFile;
// Writes a model's layers, those of a nested model under its path ("layers[3] 'base': ") and prefix
// ("base/").
Written WriteModel(ModelsOfFile& file, const KerasJson& model, const std::string& path,
                   const std::string& prefix);

// The numbers of a layer in the graph and of a call among the layer's.
struct CallNumber {
  size_t layer = 0;
  size_t call = 0;
};

struct OrderedCalls {
  std::vector<CallNumber> calls;
  // The first layer with a call that cannot be ordered, because of a loop or of a missing layer;
  // nullptr if there is none.
  const KerasGraphLayer* unordered = nullptr;
};

// Orders the calls of all layers except InputLayers. A call follows the calls whose tensors it
// takes and the first call of its own layer, which builds the layer.
OrderedCalls OrderCalls(const KerasGraph& graph) {
  OrderedCalls order;
  std::set<std::pair<std::string, int>> known;  // calls that are ordered, by layer and number
  std::vector<std::vector<bool>> is_placed;
  for (const KerasGraphLayer& layer : graph.layers) {
    const bool is_input = layer.class_name == "InputLayer";
    if (is_input) known.emplace(layer.name, 0);
    is_placed.emplace_back(layer.calls.size(), is_input);
  }
  const auto is_ready = [&](const KerasCall& call) {
    return std::all_of(call.inputs.begin(), call.inputs.end(), [&](const KerasTensor& input) {
      return known.contains({input.layer, input.call});
    });
  };
  for (bool placed = true; placed;) {
    placed = false;
    for (size_t i = 0; i < graph.layers.size(); ++i) {
      const KerasGraphLayer& layer = graph.layers[i];
      for (size_t k = 0; k < layer.calls.size(); ++k) {
        if (is_placed[i][k] || !is_ready(layer.calls[k])) continue;
        if (k > 0 && !is_placed[i][0]) continue;
        is_placed[i][k] = true;
        placed = true;
        known.emplace(layer.name, static_cast<int>(k));
        order.calls.push_back({i, k});
      }
    }
  }
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const bool is_whole = std::count(is_placed[i].begin(), is_placed[i].end(), false) == 0;
    if (!is_whole && order.unordered == nullptr) order.unordered = &graph.layers[i];
  }
  return order;
}

// Holds the job's names of a model's tensors.
class TensorNames {
 public:
  void Set(const std::string& layer, size_t call, const std::string& name) {
    names_[{layer, static_cast<int>(call)}] = name;
  }
  // Names the outputs of a nested model with several.
  void SetOutputs(const std::string& layer, const std::vector<std::string>& outputs) {
    outputs_[layer] = outputs;
  }

  // Throws KerasRefusal for an output that the layer does not have.
  [[nodiscard]] std::string NameOf(const KerasTensor& tensor) const {
    const auto found = names_.find({tensor.layer, tensor.call});
    std::string name = found == names_.end() ? tensor.layer : found->second;
    const auto outputs = outputs_.find(tensor.layer);
    const auto count = outputs == outputs_.end() ? 1 : static_cast<int>(outputs->second.size());
    if (tensor.output < 0 || tensor.output >= count) {
      RefuseKeras(fmt::format("output {} of '{}' is used, but it has {}", tensor.output,
                              tensor.layer, count));
    }
    if (count > 1) name += ":" + outputs->second[static_cast<size_t>(tensor.output)];
    return name;
  }

  // Returns the name of a call's only input, or a list of names.
  [[nodiscard]] KerasJson InputsOf(const KerasCall& call) const {
    if (call.inputs.size() == 1) return NameOf(call.inputs.front());
    KerasJson inputs = KerasJson::array();
    for (const KerasTensor& input : call.inputs) inputs.push_back(NameOf(input));
    return inputs;
  }

  // Returns a call's inputs by the names of a nested model's inputs.
  [[nodiscard]] KerasJson ByName(const std::vector<std::string>& inner,
                                 const KerasCall& call) const {
    std::vector<std::string> outer;
    for (const KerasTensor& input : call.inputs) outer.push_back(NameOf(input));
    KerasJson inputs = KerasJson::object();
    for (size_t i = 0; i < inner.size() && i < outer.size(); ++i) inputs[inner[i]] = outer[i];
    return inputs;
  }

 private:
  std::map<std::pair<std::string, int>, std::string> names_;  // of calls
  std::map<std::string, std::vector<std::string>> outputs_;   // of nested models with several
};

// Holds the state that a file's model and its nested models share: dialect, names of layers,
// policies of dtypes, and faults.
class ModelsOfFile {
 public:
  ModelsOfFile(const std::string& place, bool is_keras3, Faults& faults)
      : place_(place), is_keras3_(is_keras3), faults_(faults) {}

  [[nodiscard]] bool is_keras3() const { return is_keras3_; }
  [[nodiscard]] const std::set<std::string>& policies() const { return policies_; }
  void AddPolicy(const std::string& policy) { policies_.insert(policy); }
  // False if a layer of this name is already in the file.
  bool AddName(const std::string& name) { return names_.insert(name).second; }

  void Refused(const std::string& at, const std::string& class_name, const KerasRefusal& refusal) {
    const std::string of_class = class_name.empty() ? "" : fmt::format(" ({})", class_name);
    faults_.Add({.message = fmt::format("{}{}{}: {}", place_, at.empty() ? "" : ": " + at, of_class,
                                        refusal.message),
                 .hint = refusal.hint});
  }

 private:
  std::string place_;
  bool is_keras3_;
  Faults& faults_;
  std::set<std::string> names_;     // of layers in all models
  std::set<std::string> policies_;  // of dtypes
};

// Keras 3 writes `training` whether or not it was given, and random layers have it by default.
void CheckTraining(const KerasGraphLayer& layer, const KerasCall& call, bool is_keras3) {
  if (MemberOf(call.keywords, "training") != true) return;
  if (is_keras3 && layer.class_name.starts_with("Random")) return;
  RefuseKeras("it is called with training=True: it would also act in predictions",
              "without training=True");
}

void CheckKeywords(const KerasCall& call) {
  if (!call.keywords.is_object()) return;
  for (const auto& [key, value] : call.keywords.items()) {
    if (key == "training" || value.is_null()) continue;
    RefuseKeras(fmt::format("it is called with the argument '{}', which is not supported: {}", key,
                            value.dump()));
  }
}

bool IsInferenceOnly(const KerasGraphLayer& layer, const KerasCall& call) {
  return layer.class_name.starts_with("BatchNormalization") &&
         MemberOf(call.keywords, "training") == false;
}

// A batch normalization that is called with training=False: a model that is.
void WrapInference(KerasJson& section, bool has_inputs) {
  KerasJson inner = section;
  KerasJson wrapped = {{"type", "functional"}, {"name", section["name"]}};
  if (has_inputs) {
    wrapped["inputs"] = {{"x", section["inputs"]}};
    inner["inputs"] = "x";
  }
  wrapped["training"] = false;
  wrapped["layers"] = KerasJson::array({inner});
  section = std::move(wrapped);
}

void PutInputsLast(KerasJson& section) {
  if (!section.contains("inputs") || section.contains("layers")) return;
  KerasJson inputs = section["inputs"];
  section.erase("inputs");
  section["inputs"] = std::move(inputs);
}

// Writes the layers of one model, each after its inputs.
class ModelWriter {
 public:
  ModelWriter(ModelsOfFile& file, const KerasGraph& graph, const std::string& path,
              const std::string& prefix)
      : file_(file), graph_(graph), path_(path), prefix_(prefix) {}

  Written Write() {
    for (const KerasGraphLayer& layer : graph_.layers) {
      if (layer.class_name == "InputLayer") names_.Set(layer.name, 0, layer.name);
    }
    for (const KerasTensor& input : graph_.inputs) written_.inputs.push_back(input.layer);
    const OrderedCalls order = OrderCalls(graph_);
    for (const auto& [layer, call] : order.calls) Place(graph_.layers[layer], call);
    if (order.unordered != nullptr) {
      file_.Refused(path_ + order.unordered->place, order.unordered->class_name,
                    {"graph has a loop or a missing layer", ""});
    }
    for (const KerasTensor& output : graph_.outputs) {
      written_.output_layers.push_back(OutputName(output.layer));
      written_.outputs.push_back(names_.NameOf(output));
    }
    written_.output_names =
        graph_.output_names.empty() ? written_.output_layers : graph_.output_names;
    return std::move(written_);
  }

 private:
  // Keras' name of an output: its layer's, the second of a layer <name>_1.
  std::string OutputName(const std::string& layer) {
    std::string name = layer;
    for (int i = 1; !output_names_.insert(name).second; ++i) {
      name = fmt::format("{}_{}", layer, i);
    }
    return name;
  }

  void Place(const KerasGraphLayer& layer, size_t k) {
    names_.Set(layer.name, k, layer.name);
    try {
      if (k > 0) return Again(layer, k);
      if (IsKerasModel(layer.class_name)) return Model(layer);
      if (layer.class_name == "TFOpLambda" || layer.class_name == "SlicingOpLambda" ||
          layer.is_operation) {
        return Operation(layer, layer.calls[k]);
      }
      if (layer.class_name.ends_with("CustomScaleLayer")) return Scaled(layer, layer.calls[k]);
      Layer(layer, layer.calls[k]);
    } catch (const KerasRefusal& refusal) {
      file_.Refused(path_ + layer.place, layer.class_name, refusal);
    }
  }

  // A layer that is called once more.
  void Again(const KerasGraphLayer& layer, size_t k) {
    const KerasCall& call = layer.calls[k];
    std::string name = fmt::format("{}_call_{}", layer.name, k);
    names_.Set(layer.name, k, name);
    if (layer.class_name == "TFOpLambda" || layer.is_operation) {
      KerasGraphLayer copy = layer;
      copy.name = name;
      return Operation(copy, call);
    }
    const auto first = first_names_.find(layer.name);
    if (first == first_names_.end()) return;  // the first call was refused, which is a fault
    KerasJson section = {{"layer", first->second}, {"name", name}};
    section["inputs"] = names_.InputsOf(call);
    if (const auto nested = inner_inputs_.find(layer.name); nested != inner_inputs_.end()) {
      section["inputs"] = names_.ByName(nested->second, call);
    }
    written_.layers.push_back(std::move(section));
  }

  void Layer(const KerasGraphLayer& layer, const KerasCall& call) {
    file_.AddPolicy(PolicyOf(MemberOf(layer.config, "dtype")));
    CheckTraining(layer, call, file_.is_keras3());
    CheckKeywords(call);
    KerasLayerSections sections = KerasLayerOf(layer.class_name, layer.config, file_.is_keras3());
    const std::string first = WordOf(sections.front(), "name");
    KerasJson before = names_.InputsOf(call);
    const bool has_inputs = !call.inputs.empty();
    KerasJson gated = before;  // what the first of an activation's layers takes
    for (size_t i = 0; i < sections.size(); ++i) {
      KerasJson& section = sections[i];
      if (i == 1) gated = before;
      const KerasJson asked = MemberOf(section, "inputs");
      if (asked.is_array()) {
        section["inputs"] = {sections.size() == 4 ? names_.InputsOf(call) : gated, before};
      } else if (has_inputs || i > 0) {
        section["inputs"] = before;
      }
      before = WordOf(section, "name");
    }
    Uniquely(sections.front(), first);
    first_names_[layer.name] = WordOf(sections.front(), "name");
    names_.Set(layer.name, 0, WordOf(sections.back(), "name"));
    if (IsInferenceOnly(layer, call)) {
      WrapInference(sections.front(), has_inputs);
    }
    for (KerasJson& section : sections) {
      PutInputsLast(section);
      written_.layers.push_back(std::move(section));
    }
  }

  // Layers of nested models that share a name get the model's before it.
  void Uniquely(KerasJson& section, const std::string& name) {
    if (file_.AddName(name) || prefix_.empty()) return;
    section["name"] = prefix_ + name;
  }

  void Operation(const KerasGraphLayer& layer, const KerasCall& call) {
    std::string function = WordOf(layer.config, "function");
    if (function.empty()) {
      function = layer.class_name == "SlicingOpLambda" ? "getitem" : layer.class_name;
    }
    // Keras 3 has some arguments in the operation's configuration.
    KerasJson arguments = call.keywords.is_object() ? call.keywords : KerasJson::object();
    for (const auto& [key, value] : layer.config.items()) {
      const bool is_its_own =
          key == "name" || key == "function" || key == "trainable" || key == "dtype";
      if (!is_its_own && !arguments.contains(key)) arguments[key] = value;
    }
    KerasJson section = KerasOperationOf({.function = function,
                                          .constant = call.constant,
                                          .constant_first = call.constant_first,
                                          .tensors = static_cast<int>(call.inputs.size()),
                                          .arguments = arguments});
    section["name"] = layer.name;
    section["inputs"] = names_.InputsOf(call);
    first_names_[layer.name] = layer.name;
    written_.layers.push_back(std::move(section));
  }

  // What keras.applications' InceptionResNetV2 calls so: a + scale * b.
  void Scaled(const KerasGraphLayer& layer, const KerasCall& call) {
    const KerasJson& scale = MemberOf(layer.config, "scale");
    if (call.inputs.size() != 2 || !scale.is_number()) {
      RefuseKeras("it takes two tensors and a number `scale`");
    }
    const std::string scaled = layer.name + "/scaled";
    written_.layers.push_back({{"type", "Rescaling"},
                               {"scale", ShortNumbers(scale)},
                               {"name", scaled},
                               {"inputs", names_.NameOf(call.inputs[1])}});
    written_.layers.push_back(
        {{"type", "Add"},
         {"name", layer.name},
         {"inputs", KerasJson::array({names_.NameOf(call.inputs[0]), scaled})}});
    first_names_[layer.name] = layer.name;
  }

  void Model(const KerasGraphLayer& layer) {
    const KerasCall& call = layer.calls.front();
    const KerasJson model = {{"class_name", layer.class_name}, {"config", layer.config}};
    Written inner = WriteModel(file_, model, path_ + layer.place + ": ", layer.name + "/");
    if (inner.layers.empty()) return;
    KerasJson section = {{"type", "functional"}, {"name", layer.name}};
    if (!call.inputs.empty()) {
      if (inner.inputs.empty()) {
        section["inputs"] = names_.InputsOf(call);
      } else {
        section["inputs"] = names_.ByName(inner.inputs, call);
        inner_inputs_[layer.name] = inner.inputs;
      }
    }
    if (MemberOf(layer.config, "trainable") == false) section["trainable"] = false;
    const KerasJson& training = MemberOf(call.keywords, "training");
    if (training == false) section["training"] = false;
    if (training == true) {
      RefuseKeras("it is called with training=True", "training=False, or omit it");
    }
    first_names_[layer.name] = layer.name;
    const std::string last = WordOf(inner.layers.back(), "name");
    const bool is_last = inner.outputs.size() == 1 && inner.outputs.front() == last;
    section["layers"] = std::move(inner.layers);
    if (inner.outputs.size() > 1) names_.SetOutputs(layer.name, inner.outputs);
    if (!is_last) section["outputs"] = inner.outputs;
    written_.layers.push_back(std::move(section));
  }

  ModelsOfFile& file_;
  const KerasGraph& graph_;
  std::string path_;
  std::string prefix_;
  Written written_;
  TensorNames names_;
  std::map<std::string, std::string> first_names_;                // the job's, of layers
  std::map<std::string, std::vector<std::string>> inner_inputs_;  // of nested models
  std::set<std::string> output_names_;
};

Written WriteModel(ModelsOfFile& file, const KerasJson& model, const std::string& path,
                   const std::string& prefix) {
  KerasGraph graph;
  try {
    graph = KerasGraphOf(model);
    return ModelWriter(file, graph, path, prefix).Write();
  } catch (const KerasRefusal& refusal) {
    file.Refused(path, "", refusal);
    return {};
  }
}

bool IsKeras3(const KerasFile& file) {
  if (!file.keras_version().empty()) return file.keras_version().starts_with("3");
  return file.config().contains("registered_name") &&
         file.config().dump().find("DTypePolicy") != std::string::npos;
}

// What the model is compiled with names its outputs.
KerasJson OutputsOf(const Written& written) {
  KerasJson outputs = KerasJson::object();
  bool differs = false;
  for (size_t i = 0; i < written.outputs.size(); ++i) {
    outputs[written.output_names[i]] = written.outputs[i];
    differs |= written.output_names[i] != written.outputs[i];
  }
  if (written.outputs.size() > 1) return differs ? outputs : KerasJson();
  const bool is_last = WordOf(written.layers.back(), "name") == written.outputs.front();
  return is_last ? KerasJson() : KerasJson(written.outputs.front());
}

// The inputs of a model's configuration; of a Sequential without an InputLayer the first layer's.
std::vector<KerasInput> InputsIn(const KerasJson& model) {
  std::vector<KerasInput> inputs;
  const KerasJson& layers = MemberOf(MemberOf(model, "config"), "layers");
  for (size_t i = 0; i < layers.size(); ++i) {
    const KerasJson& config = MemberOf(layers[i], "config");
    const bool is_input = WordOf(layers[i], "class_name") == "InputLayer";
    const bool is_first = i == 0 && WordOf(model, "class_name") == "Sequential";
    const KerasJson given =
        Unwrapped(MemberOf(config, "batch_shape").is_null() ? MemberOf(config, "batch_input_shape")
                                                            : MemberOf(config, "batch_shape"));
    if ((!is_input && !is_first) || !given.is_array() || given.empty()) continue;
    KerasInput input{.name = WordOf(config, "name")};
    if (!is_input) input.name += "_input";
    for (size_t axis = 1; axis < given.size(); ++axis) {
      input.shape.push_back(given[axis].is_number_integer() ? given[axis].get<int64_t>() : -1);
    }
    const std::string dtype = PolicyOf(MemberOf(config, "dtype"));
    if (dtype.starts_with("int") || dtype.starts_with("uint") || dtype == "string") {
      input.dtype = dtype;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

KerasJob ReadJob(const KerasFile& file,
                 const std::map<std::string, std::string>& metric_names_map) {
  KerasJob job;
  Faults faults;
  ModelsOfFile models(file.config_place(), IsKeras3(file), faults);
  const Written written = WriteModel(models, file.config(), "", "");
  if (faults.empty() && written.layers.empty()) {
    faults.Add({.message = file.config_place() + ": the model has no layers"});
  }
  std::vector<Fault> all = faults.Take();
  if (!all.empty()) throw Error(Code::kData, std::move(all));
  if (!written.inputs.empty()) job.model["inputs"] = written.inputs;
  const KerasJson outputs = OutputsOf(written);
  if (!outputs.is_null()) job.model["outputs"] = outputs;
  job.model["layers"] = written.layers;
  if (models.policies().contains("mixed_bfloat16") || models.policies().contains("bfloat16")) {
    job.model["precision"] = "bfloat16";
  }
  job.inputs = InputsIn(file.config());
  job.outputs = written.output_names;
  AddCompiled(file, {.layers = written.output_layers, .is_keras3 = IsKeras3(file)},
              metric_names_map, job);
  return job;
}

}  // namespace

KerasJob KerasJobOf(const KerasFile& file,
                    const std::map<std::string, std::string>& metric_names_map) {
  if (!file.has_config()) {
    throw Error(Code::kData,
                fmt::format("{}: {}: it has no model", file.name(), NameOf(file.kind())),
                "model.save(\"model.keras\") writes layers and weights; a zoo model takes only "
                "weights: {type: MobileNetV2, weights: FILE}");
  }
  try {
    return ReadJob(file, metric_names_map);
  } catch (const nlohmann::json::exception& error) {
    throw Error(Code::kData,
                fmt::format("{}: a value is not of the kind that Keras writes there: {}",
                            file.config_place(), error.what()),
                "save the model again");
  }
}

}  // namespace tpuest
