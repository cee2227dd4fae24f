#pragma once
// Every head that a job can name.

#include <optional>
#include <set>
#include <string>
#include <variant>

#include "core/nn/heads/binary_class_head.h"
#include "core/nn/heads/custom_head.h"
#include "core/nn/heads/keras_head.h"
#include "core/nn/heads/logistic_regression_head.h"
#include "core/nn/heads/mean_squared_error.h"
#include "core/nn/heads/multi_class_head.h"
#include "core/nn/heads/multi_head.h"
#include "core/nn/heads/multi_label_head.h"
#include "core/nn/heads/poisson_regression_head.h"
#include "core/nn/heads/regression_head.h"

namespace tpuest::nn {

using AnyHead = std::variant<MultiClassHead, BinaryClassHead, MultiLabelHead, RegressionHead,
                             PoissonRegressionHead, LogisticRegressionHead, MeanSquaredError,
                             MultiHead, KerasHead, CustomHead>;

// Builds predictions, loss and metrics. Throws Error kUsage, at the head's place, for options,
// logits, labels and weights that do not fit the head.
[[nodiscard]] HeadOutputs BuildHead(const AnyHead& head, const HeadInputs& inputs);

// The range of a head's labels; empty if the head accepts any number.
[[nodiscard]] Labels<LabelRange> LabelRangesOf(const AnyHead& head);

// The number of logits per example that the head takes.
[[nodiscard]] int64_t LogitsDimensionOf(const AnyHead& head);

// The number of heads in it: 1, or those of a MultiHead.
[[nodiscard]] int HeadsOf(const AnyHead& head);

// How the head reduces its losses to one number; all heads of a MultiHead share it.
[[nodiscard]] LossReduction LossReductionOf(const AnyHead& head);

// The names of the features that weight examples.
[[nodiscard]] std::set<std::string> WeightColumnsOf(const AnyHead& head);

// Builds the metrics of one graph in an AfterScope.
[[nodiscard]] std::map<std::string, MetricOps> BuildMetrics(Graph& graph,
                                                            const MetricBuilders& builders,
                                                            const Tensors& tensors);

}  // namespace tpuest::nn
