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

// Builds predictions, loss and metrics. Errors carry the head's place; a head throws Error kUsage
// for options, logits, labels and weights that do not fit it.
[[nodiscard]] HeadOutputs BuildHead(const AnyHead& head, const HeadInputs& inputs);

// The range of a head's labels; a head without a range has none, and takes any number.
[[nodiscard]] Labels<LabelRange> LabelRangesOf(const AnyHead& head);

// The number of logits an example that the head takes.
[[nodiscard]] int64_t LogitsDimensionOf(const AnyHead& head);

// The number of heads that it is made of.
[[nodiscard]] int HeadsOf(const AnyHead& head);

// The way in which its losses become one; of several heads it is the same for all.
[[nodiscard]] LossReduction LossReductionOf(const AnyHead& head);

// The features that weigh examples.
[[nodiscard]] std::set<std::string> WeightColumnsOf(const AnyHead& head);

// The metrics of one graph, built in an AfterScope.
[[nodiscard]] std::map<std::string, MetricOps> BuildMetrics(Graph& graph,
                                                            const MetricBuilders& builders,
                                                            const Tensors& tensors);

}  // namespace tpuest::nn
