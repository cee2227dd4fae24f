#pragma once
// The outputs of an exported model, in the terms of tf.estimator.export, and the names of their
// signatures in a MetaGraph.

#include <map>
#include <string>

#include "core/graph/graph.h"

namespace tpuest {

// PredictOutput, ClassificationOutput, RegressionOutput.
enum class ExportKind { kPredict, kClassification, kRegression };
struct ExportOutput {
  ExportKind kind = ExportKind::kPredict;
  std::map<std::string, Value> outputs;
};

// Keys of signatures: the one for requests that name none, and the one that returns all
// predictions.
inline constexpr const char* kDefaultSignature = "serving_default";
inline constexpr const char* kPredictSignature = "predict";

// The method names of signatures, by kind, and those of the modes TRAIN and EVAL.
inline constexpr const char* kPredictMethod = "tensorflow/serving/predict";
inline constexpr const char* kClassifyMethod = "tensorflow/serving/classify";
inline constexpr const char* kRegressMethod = "tensorflow/serving/regress";
inline constexpr const char* kTrainMethod = "tensorflow/supervised/training";
inline constexpr const char* kEvalMethod = "tensorflow/supervised/eval";

}  // namespace tpuest
