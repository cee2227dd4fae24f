#include "models/functional.h"

#include "core/nn/job_place.h"
#include "core/nn/layers/network.h"

namespace tpuest::models {
namespace {

// The features that layers may name, without what weighs the examples.
nn::NetworkInputs InputsOf(const ModelInputs& inputs, const nn::AnyHead& head) {
  nn::NetworkInputs network;
  const std::set<std::string> weights = nn::WeightColumnsOf(head);
  for (const auto& [name, value] : inputs.features) {
    if (!weights.contains(name)) network.named.emplace(name, value);
  }
  if (network.named.size() == 1) network.only = network.named.begin()->second;
  return network;
}

struct Logits {
  Value first;
  std::map<std::string, Value> by_head;  // empty: the first are all
};

Logits LogitsOf(const Functional& model, const nn::NetworkOutputs& given) {
  if (const auto* const name = std::get_if<std::string>(&model.outputs)) {
    return {name->empty() ? given.last : nn::OutputNamed(given, *name, "outputs"), {}};
  }
  if (!std::holds_alternative<nn::MultiHead>(model.head)) {
    throw Error(Code::kUsage, "outputs by head are a MultiHead's, and this head is one",
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

}  // namespace

TPUEstimatorSpec Functional::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                   const Params& params, const JobContext& job) const {
  if (layers.empty()) {
    throw Error(Code::kUsage, "Functional has no layers").Key("model.layers");
  }
  nn::LayerContext context = MakeLayerContext(graph, mode, params, precision, trainable);
  const nn::NetworkOutputs given = nn::ApplyLayers(layers, context, InputsOf(inputs, head));
  const Logits logits = nn::AtPlace(place, [&] { return LogitsOf(*this, given); });
  return BuildSpec({.head = head,
                    .logits = logits.first,
                    .logits_by_head = logits.by_head,
                    .inputs = inputs,
                    .mode = mode,
                    .params = params,
                    .layers = context,
                    .job = job,
                    .metrics = metrics,
                    .l2_weight_decay = l2_weight_decay});
}

}  // namespace tpuest::models
