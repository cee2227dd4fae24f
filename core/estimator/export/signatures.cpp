#include "core/estimator/export/signatures.h"

#include <array>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/graph/export_output.h"

namespace tpuest {
namespace {

using Tensors = std::map<std::string, Value>;

// The reason why tensors cannot be the input of a Classify or Regress call; "" if they can.
std::string NoExamples(const Tensors& inputs, std::string_view what) {
  if (inputs.size() == 1 && inputs.begin()->second.dtype() == DType::kString) return "";
  std::vector<std::string> texts;
  for (const auto& [key, value] : inputs) {
    texts.push_back(fmt::format("'{}': {} {}", key, NameOf(value.dtype()), value.shape().Text()));
  }
  return fmt::format("{} input must be a single string Tensor; got {{{}}}", what,
                     Join(texts, ", "));
}

class SignatureBuilder {
 public:
  explicit SignatureBuilder(const TPUEstimatorSpec& spec) : outputs_(spec.export_outputs) {
    if (outputs_.empty()) outputs_[kDefaultSignature] = {ExportKind::kPredict, spec.predictions};
    if (outputs_.contains(kDefaultSignature)) return;
    if (outputs_.size() > 1) {
      throw Error(Code::kUsage,
                  "Multiple `export_outputs` were provided, but none of them are specified as the "
                  "default. Use`tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY` to specify a "
                  "default.",
                  "name one of them serving_default");
    }
    const ExportOutput only = outputs_.begin()->second;
    outputs_[kDefaultSignature] = only;
  }

  Signatures Run(const ServingInputReceiver& receiver) {
    for (const auto& [key, output] : outputs_) Add(key, output, receiver.receiver_tensors);
    for (const auto& [name, tensors] : receiver.receiver_tensors_alternatives) {
      for (const auto& [key, output] : outputs_) {
        Add(fmt::format("{}:{}", name, key), output, tensors);
      }
    }
    GiveDefault();
    return std::move(signatures_);
  }

 private:
  void Add(const std::string& key, const ExportOutput& output, const Tensors& inputs) {
    std::string fault;
    ExportSignature signature{MethodOf(output.kind), inputs, output.outputs};
    if (output.kind != ExportKind::kPredict) {
      const bool classifies = output.kind == ExportKind::kClassification;
      fault = NoExamples(inputs, classifies ? "Classification" : "Regression");
      signature.inputs = {{"inputs", inputs.begin()->second}};
    }
    if (fault.empty()) {
      signatures_.included[key] = std::move(signature);
    } else {
      signatures_.excluded[key] = fault;
    }
  }

  void GiveDefault() {
    const auto predict = signatures_.included.find(kPredictSignature);
    if (signatures_.included.contains(kDefaultSignature) || predict == signatures_.included.end())
      return;
    const ExportSignature signature = predict->second;
    signatures_.included[kDefaultSignature] = signature;
    signatures_.note = "predict becomes serving_default, whose own signature is excluded";
  }

  std::map<std::string, ExportOutput> outputs_;
  Signatures signatures_;
};

// The keys of the signatures of one method: "['predict', 'serving_default']", or "None".
std::string KeysOf(const Signatures& signatures, std::string_view method) {
  std::vector<std::string> keys;
  for (const auto& [key, signature] : signatures.included) {
    if (signature.method_name == method) keys.push_back(fmt::format("'{}'", key));
  }
  return keys.empty() ? "None" : fmt::format("[{}]", Join(keys, ", "));
}

}  // namespace

const char* MethodOf(ExportKind kind) {
  switch (kind) {
    case ExportKind::kPredict:
      return kPredictMethod;
    case ExportKind::kClassification:
      return kClassifyMethod;
    case ExportKind::kRegression:
      return kRegressMethod;
  }
  return "";
}

Signatures ServingSignatures(const TPUEstimatorSpec& spec, const ServingInputReceiver& receiver) {
  return SignatureBuilder(spec).Run(receiver);
}

Signatures SupervisedSignatures(const TPUEstimatorSpec& spec, const ServingInputReceiver& receiver,
                                const std::map<std::string, std::pair<Value, Value>>& metrics) {
  const bool trains = spec.mode == Mode::kTrain;
  ExportSignature signature{trains ? kTrainMethod : kEvalMethod, receiver.receiver_tensors, {}};
  signature.outputs["loss"] = spec.loss;
  for (const auto& [key, value] : spec.predictions) signature.outputs["predictions/" + key] = value;
  for (const auto& [name, metric] : metrics) {
    signature.outputs[fmt::format("metrics/{}/value", name)] = metric.first;
    signature.outputs[fmt::format("metrics/{}/update_op", name)] = metric.second;
  }
  Signatures signatures;
  signatures.included[trains ? "train" : "eval"] = std::move(signature);
  return signatures;
}

void LogSignatures(const Signatures& signatures, Log& log) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMethods = {
      {{"Classify", kClassifyMethod},
       {"Regress", kRegressMethod},
       {"Predict", kPredictMethod},
       {"Train", kTrainMethod},
       {"Eval", kEvalMethod}}};
  for (const auto& [name, method] : kMethods) {
    log.Info("Signatures INCLUDED in export for {}: {}", name, KeysOf(signatures, method));
  }
  if (!signatures.excluded.empty()) {
    log.Info(
        "Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving "
        "APIs:");
    for (const auto& [key, why] : signatures.excluded) log.Info("'{}' : {}", key, why);
  }
  if (!signatures.note.empty()) log.Info("{}", signatures.note);
  if (signatures.included.empty()) {
    log.Warning("Export includes no signatures!");
  } else if (!signatures.included.contains(kDefaultSignature) &&
             !signatures.included.contains("train") && !signatures.included.contains("eval")) {
    log.Warning("Export includes no default signature!");
  }
}

}  // namespace tpuest
