#include "models/functional.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/nn/job_place.h"
#include "core/nn/layers/network.h"
#include "core/ops/elementwise.h"
#include "models/first_weights.h"

namespace tpuest::models {
namespace {

std::string PythonSetOf(const std::vector<std::string>& names) {
  return names.empty() ? "set()" : "{'" + Join(names, "', '") + "'}";
}

// Throws what model_to_estimator does where the model's inputs are not all among the features.
void CheckCovered(const std::vector<std::string>& inputs,
                  const std::map<std::string, Value>& features) {
  std::vector<std::string> missed;
  std::vector<std::string> given;
  for (const auto& [name, value] : features) given.push_back(name);
  for (const std::string& name : inputs) {
    if (!features.contains(name)) missed.push_back(name);
  }
  if (missed.empty()) return;
  throw Error(Code::kUsage,
              fmt::format("The dictionary passed into features does not cover requested inputs "
                          "keys defined in the keras model.\n\tExpected keys: {}\n\tfeatures keys: "
                          "{}\n\tMissed keys: {}",
                          PythonSetOf(inputs), PythonSetOf(given), PythonSetOf(missed)),
              "name them in the input_fn's `features`");
}

// The features that layers may name, without what weighs the examples.
nn::NetworkInputs InputsOf(const Functional& model, const ModelInputs& inputs) {
  nn::NetworkInputs network;
  const std::set<std::string> weights = nn::WeightColumnsOf(model.head);
  for (const auto& [name, value] : inputs.features) {
    if (!weights.contains(name)) network.named.emplace(name, value);
  }
  if (model.inputs.size() == 1 && network.named.size() == 1) {
    network.named = {{model.inputs.front(), network.named.begin()->second}};
  } else if (!model.inputs.empty()) {
    CheckCovered(model.inputs, network.named);
    std::erase_if(network.named, [&](const auto& named) {
      return std::find(model.inputs.begin(), model.inputs.end(), named.first) == model.inputs.end();
    });
  }
  if (network.named.size() == 1) network.only = network.named.begin()->second;
  return network;
}

// The name under which layers read whether a list has a value.
std::string PresenceOf(const std::string& feature) { return feature + "/present"; }

// Whether a layer takes that input.
bool Takes(const std::vector<nn::Layer>& layers, const std::string& input) {
  const auto takes = [&](const nn::LayerInputs& inputs) {
    if (const auto* const one = std::get_if<std::string>(&inputs)) return *one == input;
    if (const auto* const list = std::get_if<std::vector<std::string>>(&inputs)) {
      return std::find(list->begin(), list->end(), input) != list->end();
    }
    const auto& named = std::get<std::map<std::string, std::string>>(inputs);
    return std::any_of(named.begin(), named.end(),
                       [&](const auto& argument) { return argument.second == input; });
  };
  return std::any_of(layers.begin(), layers.end(), [&](const nn::Layer& layer) {
    return std::visit([&](const auto& of) { return takes(of.inputs); }, layer);
  });
}

// True where a list has a value, of one whose features are dense: what fills it up is none.
Value IsThere(Value list) {
  if (IsFloating(list.dtype())) return ops::LogicalNot(ops::IsNan(list));
  Graph& graph = list.graph();
  if (list.dtype() == DType::kString) {
    return ops::NotEqual(list, graph.Constant(Tensor::Strings(Shape(), {""})));
  }
  return ops::NotEqual(list, graph.ScalarOf(list.dtype(), -1));
}

// Adds what is there of features, "words/present" [batch, K], where a layer asks for it.
void AddPresence(const Functional& model, const ModelInputs& inputs, nn::NetworkInputs& network) {
  const bool is_renamed = model.inputs.size() == 1 && network.named.size() == 1;
  std::map<std::string, Value> found;
  for (const auto& [name, value] : network.named) {
    if (!Takes(model.layers, PresenceOf(name))) continue;
    const bool is_only = is_renamed && inputs.features.size() == 1;
    const auto present = inputs.present.find(is_only ? inputs.features.begin()->first : name);
    found.emplace(PresenceOf(name),
                  present != inputs.present.end() ? present->second : IsThere(value));
  }
  network.named.merge(found);
}

struct Logits {
  Value first;
  std::map<std::string, Value> by_head;  // empty: the first are all
};

// The tensors of a compiled model's outputs: the layers of their names, where `outputs` says no
// other; of one output the last layer.
Logits OutputsOf(const nn::KerasHead& head, const OutputNames& outputs,
                 const nn::NetworkOutputs& given) {
  const auto* const layers = std::get_if<std::map<std::string, std::string>>(&outputs);
  const auto* const only = std::get_if<std::string>(&outputs);
  Logits logits;
  for (const nn::KerasOutput& output : head.outputs) {
    std::string layer = output.name;
    if (layers != nullptr && layers->contains(layer)) {
      layer = layers->at(layer);
    } else if (head.outputs.size() == 1 && only != nullptr && !only->empty()) {
      layer = *only;
    }
    const bool is_last = head.outputs.size() == 1 && !given.by_name.contains(layer);
    logits.by_head.emplace(output.name,
                           is_last ? given.last : nn::OutputNamed(given, layer, "outputs"));
  }
  logits.first = logits.by_head.empty() ? given.last : logits.by_head.begin()->second;
  return logits;
}

Logits LogitsOf(const Functional& model, const nn::NetworkOutputs& given) {
  if (const auto* const compiled = std::get_if<nn::KerasHead>(&model.head)) {
    return OutputsOf(*compiled, model.outputs, given);
  }
  if (const auto* const name = std::get_if<std::string>(&model.outputs)) {
    return {name->empty() ? given.last : nn::OutputNamed(given, *name, "outputs"), {}};
  }
  if (!std::holds_alternative<nn::MultiHead>(model.head)) {
    throw Error(Code::kUsage, "outputs by head need a MultiHead, but this is a single head",
                "outputs: LAYER");
  }
  Logits logits;
  for (const auto& [head, layer] : std::get<std::map<std::string, std::string>>(model.outputs)) {
    logits.by_head.emplace(head, nn::OutputNamed(given, layer, "outputs"));
  }
  if (logits.by_head.empty()) throw Error(Code::kUsage, "outputs names no layer", "{HEAD: LAYER}");
  logits.first = logits.by_head.begin()->second;
  return logits;
}

// The files whose weights the model and its layers start with, the model's own first.
std::vector<nn::WeightsFile> FilesOf(const Functional& model, const nn::LayerContext& context,
                                     size_t first) {
  std::vector<nn::WeightsFile> files;
  if (!model.weights.empty()) {
    files.push_back({model.weights, model.place, first, context.graph.variables().size(), ""});
  }
  files.insert(files.end(), context.weights.begin(), context.weights.end());
  return files;
}

}  // namespace

TPUEstimatorSpec Functional::Build(Graph& graph, const ModelInputs& features, Mode mode,
                                   const Params& params, const JobContext& job) const {
  if (layers.empty()) {
    throw Error(Code::kUsage, "Functional has no layers").Key("model.layers");
  }
  nn::LayerContext context = MakeLayerContext(graph, mode, params, precision, trainable);
  context.example_weight = features.example_weight;
  const size_t first = graph.variables().size();
  nn::NetworkInputs network = InputsOf(*this, features);
  nn::AtPlace(place, [&] { nn::CheckInputShape(input_shape, network); });
  AddPresence(*this, features, network);
  const nn::NetworkOutputs given = nn::ApplyLayers(layers, context, network);
  const Logits logits = nn::AtPlace(place, [&] { return LogitsOf(*this, given); });
  const std::vector<nn::WeightsFile> files = FilesOf(*this, context, first);
  TPUEstimatorSpec spec = BuildSpec({.head = head,
                                     .logits = logits.first,
                                     .logits_by_head = logits.by_head,
                                     .inputs = features,
                                     .mode = mode,
                                     .params = params,
                                     .layers = context,
                                     .job = job,
                                     .optimizers = PartsOf(optimizer),
                                     .metrics = metrics,
                                     .l2_weight_decay = l2_weight_decay});
  if (!files.empty()) StartFromFiles(context, files, spec);
  return spec;
}

}  // namespace tpuest::models
