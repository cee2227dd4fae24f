#pragma once
// Makes the signatures of a SavedModel from a model's export_outputs, by tf.estimator's rules.

#include <map>
#include <string>

#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/graph/write/meta_graph.h"

namespace tpuest {

struct Signatures {
  std::map<std::string, ExportSignature> included;
  std::map<std::string, std::string> excluded;  // reason, by key
  std::string note;  // a log line about a signature that TensorFlow would not make; may be empty
};

// The method_name of a signature: "tensorflow/serving/predict" and so on.
[[nodiscard]] const char* MethodOf(ExportKind kind);

// Returns the signatures of PREDICT: one per export_output, and "<alternative>:<key>" for other
// receivers. Those of Classify and Regress must take one string tensor; otherwise they are
// excluded. Without export_outputs, serving_default returns the predictions; a single output is
// serving_default as well. If the rules leave no serving_default, `predict` becomes it. Throws
// Error kUsage if several outputs name no default.
[[nodiscard]] Signatures ServingSignatures(const TPUEstimatorSpec& spec,
                                           const ServingInputReceiver& receiver);

// Returns the signature of TRAIN, "train", or EVAL, "eval". Its outputs are loss,
// predictions/<key>, metrics/<name>/value and metrics/<name>/update_op; `metrics` has the latter
// two by name.
[[nodiscard]] Signatures SupervisedSignatures(
    const TPUEstimatorSpec& spec, const ServingInputReceiver& receiver,
    const std::map<std::string, std::pair<Value, Value>>& metrics);

// Logs TensorFlow's report: the signatures by method, and the excluded ones with reasons.
void LogSignatures(const Signatures& signatures, Log& log);

}  // namespace tpuest
