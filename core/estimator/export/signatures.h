#pragma once
// Makes the signatures of a SavedModel of a model's export_outputs, by tf.estimator's rules.

#include <map>
#include <string>

#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/graph/write/meta_graph.h"

namespace tpuest {

struct Signatures {
  std::map<std::string, ExportSignature> included;
  std::map<std::string, std::string> excluded;  // why, by key
  std::string note;  // a signature that TensorFlow would not make, told in the log; may be empty
};

// The method_name of a signature: "tensorflow/serving/predict" and so on.
[[nodiscard]] const char* MethodOf(ExportKind kind);

// The signatures of PREDICT: one for each export_output, and "<alternative>:<key>" for other
// receivers. Those of Classify and Regress take one string tensor, or they are excluded. Without
// export_outputs the predictions are serving_default; a single output is serving_default too. Where
// the rules leave no serving_default, `predict` is it. Error kUsage where several outputs name no
// default.
[[nodiscard]] Signatures ServingSignatures(const TPUEstimatorSpec& spec,
                                           const ServingInputReceiver& receiver);

// The signature of TRAIN, "train", or EVAL, "eval". Its outputs are loss, predictions/<key>,
// metrics/<name>/value and metrics/<name>/update_op; `metrics` has the latter two by name.
[[nodiscard]] Signatures SupervisedSignatures(
    const TPUEstimatorSpec& spec, const ServingInputReceiver& receiver,
    const std::map<std::string, std::pair<Value, Value>>& metrics);

// Logs TensorFlow's report: the signatures by method, and those that are excluded and why.
void LogSignatures(const Signatures& signatures, Log& log);

}  // namespace tpuest
