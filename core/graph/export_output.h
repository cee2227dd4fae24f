#pragma once
// What a model gives to servers, in tf.estimator.export's terms, and the names that its signatures
// have in a MetaGraph.

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

// Keys of signatures: the one that a request which names none is for, and all predictions.
inline constexpr const char* kDefaultSignature = "serving_default";
inline constexpr const char* kPredictSignature = "predict";

// Their methods, by kind, and those of the modes TRAIN and EVAL.
inline constexpr const char* kPredictMethod = "tensorflow/serving/predict";
inline constexpr const char* kClassifyMethod = "tensorflow/serving/classify";
inline constexpr const char* kRegressMethod = "tensorflow/serving/regress";
inline constexpr const char* kTrainMethod = "tensorflow/supervised/training";
inline constexpr const char* kEvalMethod = "tensorflow/supervised/eval";

}  // namespace tpuest
