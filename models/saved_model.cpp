#include "models/saved_model.h"

#include <algorithm>
#include <utility>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/graph/write/meta_graph.h"
#include "core/nn/global_step.h"

namespace tpuest::models {
namespace {

// TensorFlow's keys of metrics in an eval MetaGraph: "metrics/<name>/value" and
// "metrics/<name>/update_op".
constexpr std::string_view kMetricPrefix = "metrics/";
constexpr std::string_view kValueSuffix = "/value";
constexpr std::string_view kUpdateSuffix = "/update_op";

// A signature of a MetaGraph, or tensors of a bare graph under names that the job gives.
struct Chosen {
  const MetaGraphInfo* meta = nullptr;
  SignatureInfo signature;
};

std::string KeysOf(const std::map<std::string, SignatureTensor>& tensors) {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : tensors) keys.push_back(key);
  return Join(keys, ", ");
}

class Builder {
 public:
  Builder(const SavedModelModel& options, Graph& graph, const ModelInputs& inputs)
      : options_(options), graph_(graph), inputs_(inputs) {
    const bool is_file = FileExists(options.path) && !DirectoryExists(options.path);
    saved_ = std::make_shared<const SavedModel>(is_file ? SavedModel::FromGraphDefFile(options.path)
                                                        : SavedModel(options.path));
    if (is_file && options.outputs.empty()) {
      throw Error(Code::kUsage, fmt::format("{} has no signatures: name its tensors", options.path),
                  "inputs: {x: \"x:0\"}, outputs: {logits: \"dense/BiasAdd:0\"}")
          .Key("model.outputs");
    }
    StartAtItsStep();
  }

  TPUEstimatorSpec Predict() {
    const Chosen chosen = Serving();
    TPUEstimatorSpec spec{.mode = Mode::kPredict};
    spec.predictions = Import(chosen, MatchInputs(chosen.signature));
    spec.export_outputs[kDefaultSignature] = {ExportKind::kPredict, spec.predictions};
    return spec;
  }

  // Returns the spec of the MetaGraph that is tagged eval; nullopt if there is none.
  std::optional<TPUEstimatorSpec> Evaluate() {
    const MetaGraphInfo* const meta = saved_->FindOrNull({"eval"});
    if (meta == nullptr || !meta->signatures.contains("eval")) return {};
    const Chosen chosen{meta, meta->signatures.at("eval")};
    CheckEvalMethod(chosen.signature);
    const std::map<std::string, Value> given = MatchInputs(chosen.signature);
    const std::map<std::string, Value> outputs = Import(chosen, given, /*metrics=*/false);
    const auto loss = outputs.find("loss");
    if (loss == outputs.end()) {
      throw Error(Code::kData, fmt::format("{}: signature 'eval' has no loss", options_.path));
    }
    TPUEstimatorSpec spec{.mode = Mode::kEval, .loss = AsScalar(loss->second)};
    for (const auto& [key, value] : outputs) {
      if (key.starts_with("predictions")) spec.predictions[key] = value;
    }
    spec.eval_metrics = Metrics(chosen, given, outputs);
    return spec;
  }

  // The head's spec on the serving signature's logits.
  TPUEstimatorSpec EvaluateHead(const nn::AnyHead& head, const Params& params,
                                const JobContext& job) {
    const Chosen chosen = Serving();
    const std::map<std::string, Value> outputs = Import(chosen, MatchInputs(chosen.signature));
    const auto logits = outputs.find(options_.logits);
    if (logits == outputs.end()) {
      throw Error(Code::kUsage,
                  fmt::format("{} has no output '{}' for the head", options_.path, options_.logits),
                  "it gives: " + KeysOf(chosen.signature.outputs))
          .Key("model.logits");
    }
    nn::LayerContext layers = MakeLayerContext(graph_, Mode::kEval, params, "float32");
    return BuildSpec(
        {.head = head,
         .logits = AsSigned(logits->second, chosen.signature.outputs.at(options_.logits).shape),
         .inputs = inputs_,
         .mode = Mode::kEval,
         .params = params,
         .layers = layers,
         .job = job,
         .metrics = options_.metrics});
  }

 private:
  // Starts the global step where the SavedModel was exported: evaluations of it are those of that
  // step.
  void StartAtItsStep() {
    Variable* const variable = graph_.FindVariable(nn::kGlobalStepName);
    const std::optional<int64_t> step = saved_->GlobalStep();
    if (variable == nullptr || !step) return;
    variable->initial_value = graph_.Scalar<int64_t>(*step, "global_step/Initializer/stored");
  }

  Chosen Serving() const {
    if (!options_.outputs.empty()) return NamedTensors();
    const MetaGraphInfo* meta = saved_->FindOrNull({kServeTag});
    if (meta == nullptr) meta = saved_->FindOrNull({kServeTag, kTpuTag});
    if (meta == nullptr) std::ignore = saved_->Find({kServeTag});
    std::string name = options_.signature.value_or(kPredictSignature);
    if (!options_.signature && !meta->signatures.contains(name)) name = kDefaultSignature;
    const auto found = meta->signatures.find(name);
    if (found != meta->signatures.end()) return {meta, found->second};
    std::vector<std::string> names;
    for (const auto& [key, signature] : meta->signatures) names.push_back(key);
    throw Error(Code::kUsage, fmt::format("{} has no signature '{}'", options_.path, name),
                "signature: one of " + (names.empty() ? "none" : Join(names, ", ")))
        .Key("model.signature");
  }

  Chosen NamedTensors() const {
    Chosen chosen{saved_->meta_graphs().data(), {}};
    for (const auto& [key, name] : options_.inputs) chosen.signature.inputs[key].name = name;
    for (const auto& [key, name] : options_.outputs) chosen.signature.outputs[key].name = name;
    return chosen;
  }

  // Returns the values to feed, by tensor name. A dict's labels go by their keys; a single label is
  // the input that is not a feature, if there is one: TensorFlow calls it 'label' if the job gave
  // it no name.
  [[nodiscard]] std::map<std::string, Value> MatchInputs(const SignatureInfo& signature) const {
    std::map<std::string, Value> given;
    bool label_used = false;
    for (const auto& [key, tensor] : signature.inputs) {
      const auto feature = inputs_.features.find(key);
      const Value* const label = label_used ? nullptr : LabelFor(key);
      if (feature == inputs_.features.end() && label == nullptr) {
        throw Error(Code::kUsage,
                    fmt::format("Key \"{}\" not found in features or labels passed in to the model "
                                "function. All required keys: {}",
                                key, KeysOf(signature.inputs)),
                    "name the input_fn's features after the model's inputs");
      }
      const Value value = feature == inputs_.features.end() ? *label : feature->second;
      label_used |= feature == inputs_.features.end() && !inputs_.labels.is_dict();
      CheckGiven(key, tensor, value);
      given[tensor.name] = value;
    }
    return given;
  }

  [[nodiscard]] const Value* LabelFor(const std::string& key) const {
    if (inputs_.labels.is_dict()) return inputs_.labels.Find(key);
    return inputs_.labels.valid() ? &inputs_.labels.only() : nullptr;
  }

  static void CheckGiven(const std::string& key, const SignatureTensor& expected, Value given) {
    if (expected.dtype == DType::kInvalid) return;  // of a bare graph: its nodes tell
    std::string message;
    if (expected.dtype != given.dtype()) {
      message += fmt::format(" Expected dtype: {}, Got: {}", NameOf(expected.dtype),
                             NameOf(given.dtype()));
    }
    if (!Compatible(expected.shape, given.shape())) {
      message +=
          fmt::format(" Expected shape: {}, Got: {}", expected.shape.Text(), given.shape().Text());
    }
    if (message.empty()) return;
    throw Error(
        Code::kUsage,
        fmt::format("Tensor shape and/or dtype validation failed for input {}:{}", key, message),
        "cast and reshape with the input_fn's `map`");
  }

  std::map<std::string, Value> Import(const Chosen& chosen,
                                      const std::map<std::string, Value>& given,
                                      bool metrics = true) {
    std::vector<std::string> keys;
    std::vector<std::string> names;
    for (const auto& [key, tensor] : chosen.signature.outputs) {
      if (!metrics && key.starts_with(kMetricPrefix)) continue;
      keys.push_back(key);
      names.push_back(tensor.name);
    }
    const std::vector<Value> values = saved_->ImportTensors(*chosen.meta, given, names, graph_);
    std::map<std::string, Value> outputs;
    for (size_t i = 0; i < keys.size(); ++i) outputs[keys[i]] = values[i];
    return outputs;
  }

  // Makes a loss [] of one whose rank is unknown: TensorFlow sums weights over axes that it
  // computes, so that only a run knows the rank.
  Value AsScalar(Value value) {
    if (value.shape().known_rank()) return value;
    const Value shape = graph_.Constant(Tensor(DType::kInt32, {0}), "loss/scalar_shape");
    return graph_.Add("Reshape", {value, shape}, {}, "loss/scalar");
  }

  // Gives logits the shape that the signature states where the graph says less: sizes that follow
  // from values are known only where it runs.
  Value AsSigned(Value value, const Shape& stated) {
    if (!stated.known_rank() || !Compatible(value.shape(), stated)) return value;
    const auto& dims = stated.dims();
    const auto unknown = std::count(dims.begin(), dims.end(), kUnknownDim);
    const bool says_less = !value.shape().known_rank() || [&] {
      const auto& of_value = value.shape().dims();
      return std::count(of_value.begin(), of_value.end(), kUnknownDim) > unknown;
    }();
    if (!says_less || unknown > 1) return value;
    const std::vector<int32_t> sizes(dims.begin(), dims.end());
    const Tensor shape = Tensor::Of<int32_t>({static_cast<int64_t>(sizes.size())}, sizes);
    return graph_.Add("Reshape", {value, graph_.Constant(shape, "logits/shape")}, {},
                      "logits/as_stated");
  }

  static void CheckEvalMethod(const SignatureInfo& signature) {
    if (signature.method_name == kEvalMethod) return;
    throw Error(Code::kData,
                fmt::format("Invalid SignatureDef method name for mode eval. Expected: {} Got: {}",
                            kEvalMethod, signature.method_name),
                "export it with experimental_export_all_saved_models");
  }

  // The metrics are imported again, into the graph that runs after the device, from the inputs and
  // whatever of the outputs keeps the batch: what leads to those is not computed twice.
  EvalMetrics Metrics(const Chosen& chosen, const std::map<std::string, Value>& given,
                      const std::map<std::string, Value>& outputs) const {
    EvalMetrics result{.fn = {}, .tensors = given};
    for (const auto& [key, value] : outputs) {
      const bool keeps_batch = value.shape().known_rank() && value.shape().rank() > 0;
      if (keeps_batch) result.tensors[chosen.signature.outputs.at(key).name] = value;
    }
    std::vector<std::string> names;
    std::vector<std::string> tensors;
    for (const auto& [key, tensor] : chosen.signature.outputs) {
      if (!key.starts_with(kMetricPrefix) || !key.ends_with(kValueSuffix)) continue;
      const std::string stem = key.substr(0, key.size() - kValueSuffix.size());
      const auto update = chosen.signature.outputs.find(stem + std::string(kUpdateSuffix));
      if (update == chosen.signature.outputs.end()) continue;
      names.push_back(stem.substr(kMetricPrefix.size()));
      tensors.push_back(tensor.name);
      tensors.push_back(update->second.name);
    }
    result.fn = [saved = saved_, meta = chosen.meta, names, tensors](
                    Graph& graph, const std::map<std::string, Value>& fed) {
      const std::vector<Value> values = saved->ImportTensors(*meta, fed, tensors, graph);
      std::map<std::string, MetricOps> metrics;
      for (size_t i = 0; i < names.size(); ++i) {
        metrics[names[i]] = {values[2 * i], values[2 * i + 1].node};
      }
      return metrics;
    };
    return result;
  }

  const SavedModelModel& options_;
  Graph& graph_;
  const ModelInputs& inputs_;
  std::shared_ptr<const SavedModel> saved_;
};

[[noreturn]] void ThrowUnavailable(std::string_view mode, const std::string& hint) {
  throw Error(
      Code::kUsage,
      fmt::format("{} mode is not available in the SavedModel. Use saved_model_cli to check "
                  "that the Metagraph for this mode has been exported.",
                  mode),
      hint);
}

}  // namespace

TPUEstimatorSpec SavedModelModel::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                        const Params& params, const JobContext& job) const {
  if (mode == Mode::kTrain) {
    ThrowUnavailable(ModeName(mode),
                     "train the model that it was exported from, or warm_start_from it");
  }
  Builder builder(*this, graph, inputs);
  if (mode == Mode::kPredict) return builder.Predict();
  if (auto spec = builder.Evaluate()) return *std::move(spec);
  if (head) return builder.EvaluateHead(*head, params, job);
  ThrowUnavailable(ModeName(mode),
                   "head: {type: ...} evaluates the output of the serving signature");
}

}  // namespace tpuest::models
