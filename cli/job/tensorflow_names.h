#pragma once
// The arguments and classes of TensorFlow that a job does not have as keys or types, each with what
// to write instead: those of TPUEstimator, Estimator, RunConfig, TPUConfig, ConfigProto, TrainSpec,
// EvalSpec, the premade estimators, feature columns, heads, hooks, exporters, tf.data's sources,
// and the optimizers and schedules, as TensorFlow 2.15 has them. A test compares docs/tensorflow.md
// with this list.

#include "config/tree.h"

namespace tpuest::cli {

[[nodiscard]] config::OtherNames TensorFlowNames();

}  // namespace tpuest::cli
