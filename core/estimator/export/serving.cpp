#include "core/estimator/export/serving.h"

#include <utility>

#include "core/base/text.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/ops/elementwise.h"

namespace tpuest {
namespace {

constexpr const char* kRaw = "raw";

Value AddPlaceholder(Graph& graph, const TensorSpec& spec, std::optional<int64_t> batch_size) {
  std::vector<int64_t> dims = spec.shape.dims();
  dims.insert(dims.begin(), batch_size.value_or(kUnknownDim));
  return graph.Placeholder(spec.dtype, Shape(std::move(dims)), NodeNameOf(spec.name));
}

// True at values of a list, false at padding.
Value NoFillers(Value list) {
  if (IsFloating(list.dtype())) return ops::LogicalNot(ops::IsNan(list));
  Graph& graph = list.graph();
  const Value filler = list.dtype() == DType::kString
                           ? graph.Constant(Tensor::Strings({}, {""}), "filler")
                           : graph.ScalarOf(list.dtype(), -1, "filler");
  return ops::NotEqual(list, filler);
}

// A label's key in a signature: its key in the dict, or TensorFlow's for labels that are a tensor.
std::string KeyOf(const std::string& head) { return head.empty() ? "label" : head; }

void CheckDistinct(const Features& features, const nn::Labels<TensorSpec>& labels) {
  std::vector<std::string> both;
  for (const auto& [head, label] : labels) {
    const std::string key = KeyOf(head);
    if (features.contains(key)) both.push_back("'" + key + "'");
  }
  if (both.empty()) return;
  throw Error(Code::kUsage,
              fmt::format("Features and labels must have distinct keys. Found overlapping "
                          "keys: {{{}}}",
                          Join(both, ", ")),
              "give the label another name");
}

}  // namespace

ServingInputReceiverFn RawServingInputReceiverFn(StreamSpec stream,
                                                 std::optional<int64_t> default_batch_size) {
  return [stream = std::move(stream), default_batch_size](Graph& graph) {
    ServingInputReceiver receiver;
    for (const TensorSpec& feature : stream.features) {
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
    ServingInputReceiver receiver = RawServingInputReceiverFn(stream, default_batch_size)(graph);
    CheckDistinct(receiver.features, stream.labels);
    receiver.labels = stream.labels.Map(
        [&](const TensorSpec& label) { return AddPlaceholder(graph, label, default_batch_size); });
    for (const auto& [head, spec] : stream.labels) {
      const Value* const label = receiver.labels.Find(head);
      receiver.receiver_tensors[KeyOf(head)] = label == nullptr ? receiver.labels.only() : *label;
    }
    return receiver;
  };
}

ServingInputReceiverFn WithRawAlternative(ServingInputReceiverFn receiver) {
  return [receiver = std::move(receiver)](Graph& graph) {
    ServingInputReceiver given = receiver(graph);
    given.receiver_tensors_alternatives[kRaw] = given.features;
    for (auto& [list, present] : given.present) present = NoFillers(given.features.at(list));
    return given;
  };
}

}  // namespace tpuest
