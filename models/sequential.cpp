#include "models/sequential.h"

#include "core/nn/job_place.h"
#include "core/nn/layers/network.h"
#include "models/first_weights.h"

namespace tpuest::models {
namespace {

void CheckInARow(const std::vector<nn::Layer>& layers) {
  for (const nn::Layer& layer : layers) {
    std::visit(
        [](const auto& l) {
          if (l.inputs == nn::LayerInputs()) return;
          nn::Refuse(l.place, "a layer of Sequential takes the output of the layer before it",
                     "model: {type: Functional} has layers with inputs");
        },
        layer);
  }
}

}  // namespace

TPUEstimatorSpec Sequential::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                   const Params& params, const JobContext& job) const {
  if (layers.empty()) {
    throw Error(Code::kUsage, "Sequential has no layers").Key("model.layers");
  }
  CheckInARow(layers);
  nn::LayerContext context = MakeLayerContext(graph, mode, params, precision, trainable);
  context.example_weight = inputs.example_weight;
  const Value x =
      OnlyFeature(inputs, "Sequential", nn::WeightColumnsOf(head), context.compute_dtype);
  const Value logits = nn::ApplyLayers(layers, context, {.named = {}, .only = x}).last;
  TPUEstimatorSpec spec = BuildSpec({.head = head,
                                     .logits = logits,
                                     .inputs = inputs,
                                     .mode = mode,
                                     .params = params,
                                     .layers = context,
                                     .job = job,
                                     .optimizers = PartsOf(optimizer),
                                     .metrics = metrics,
                                     .l2_weight_decay = l2_weight_decay});
  if (!context.weights.empty()) StartFromFiles(context, context.weights, spec);
  return spec;
}

}  // namespace tpuest::models
