#pragma once
// From a model's export_outputs to the signatures of a SavedModel, by tf.estimator's rules.

#include <map>
#include <string>

#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/graph/write/meta_graph.h"

namespace tpuest {

struct Signatures {
  std::map<std::string, ExportSignature> included;
  std::map<std::string, std::string> excluded;  // why, by key
  std::string note;                             // what tpuest did beyond TensorFlow; may be empty
};

[[nodiscard]] const char* MethodOf(ExportKind kind);

// Of PREDICT: a signature for each export_output, and "<alternative>:<key>" for other receivers.
// Classify and Regress take one string; others of theirs are excluded. Without export_outputs the
// predictions are serving_default; a single output is serving_default too. Where the rules leave no
// serving_default, `predict` is it. Error kUsage where several outputs name no default.
[[nodiscard]] Signatures ServingSignatures(const TPUEstimatorSpec& spec,
                                           const ServingInputReceiver& receiver);

// Of TRAIN and EVAL, "train" and "eval": loss, predictions/<key>, metrics/<name>/value and
// metrics/<name>/update_op.
[[nodiscard]] Signatures SupervisedSignatures(
    const TPUEstimatorSpec& spec, const ServingInputReceiver& receiver,
    const std::map<std::string, std::pair<Value, Value>>& metrics);

// TensorFlow's report: which are included by method, which are excluded and why.
void LogSignatures(const Signatures& signatures, Log& log);

}  // namespace tpuest
