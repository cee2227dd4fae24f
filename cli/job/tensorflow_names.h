#pragma once
// The arguments and classes of TensorFlow's that are no keys and types of a job, each with what to
// write in its place: those of TPUEstimator, Estimator, RunConfig, TPUConfig, ConfigProto,
// TrainSpec, EvalSpec, the premade estimators, feature columns, heads, hooks, exporters, tf.data's
// sources, and the optimizers and schedules, as TensorFlow 2.15 has them. docs/tensorflow.md is
// held to this list.

#include "config/tree.h"

namespace tpuest::cli {

[[nodiscard]] config::OtherNames TensorFlowNames();

}  // namespace tpuest::cli
