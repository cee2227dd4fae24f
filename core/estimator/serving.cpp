#include "core/estimator/serving.h"

#include <utility>

#include "core/estimator/model_builder.h"

namespace tpuest {
namespace {

constexpr const char* kRaw = "raw";

Value AddPlaceholder(Graph& graph, const TensorSpec& spec, std::optional<int64_t> batch_size) {
  std::vector<int64_t> dims = spec.shape.dims();
  dims.insert(dims.begin(), batch_size.value_or(kUnknownDim));
  return graph.Placeholder(spec.dtype, Shape(std::move(dims)), NodeNameOf(spec.name));
}

}  // namespace

ServingInputReceiverFn RawServingInputReceiverFn(std::vector<TensorSpec> features,
                                                 std::optional<int64_t> default_batch_size) {
  return [features = std::move(features), default_batch_size](Graph& graph) {
    ServingInputReceiver receiver;
    for (const TensorSpec& feature : features) {
      receiver.features[feature.name] = AddPlaceholder(graph, feature, default_batch_size);
      receiver.feature_keys[feature.name] = feature.key;
    }
    receiver.receiver_tensors = receiver.features;
    return receiver;
  };
}

ServingInputReceiverFn RawSupervisedInputReceiverFn(StreamSpec stream,
                                                    std::optional<int64_t> default_batch_size) {
  return [stream = std::move(stream), default_batch_size](Graph& graph) {
    ServingInputReceiver receiver =
        RawServingInputReceiverFn(stream.features, default_batch_size)(graph);
    if (!stream.labels) return receiver;
    const std::string& name = stream.labels->name;
    if (receiver.features.contains(name)) {
      throw Error(Code::kUsage,
                  fmt::format("Features and labels must have distinct keys. Found overlapping "
                              "keys: {{'{}'}}",
                              name),
                  "give the label another name");
    }
    receiver.labels = AddPlaceholder(graph, *stream.labels, default_batch_size);
    receiver.receiver_tensors[name] = receiver.labels;
    return receiver;
  };
}

ServingInputReceiverFn WithRawAlternative(ServingInputReceiverFn receiver) {
  return [receiver = std::move(receiver)](Graph& graph) {
    ServingInputReceiver given = receiver(graph);
    given.receiver_tensors_alternatives[kRaw] = given.features;
    return given;
  };
}

}  // namespace tpuest
