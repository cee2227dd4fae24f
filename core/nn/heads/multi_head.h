#pragma once
// tf.estimator.MultiHead: several heads on one model, trained on the weighted sum of their losses.

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/binary_class_head.h"
#include "core/nn/heads/logistic_regression_head.h"
#include "core/nn/heads/multi_class_head.h"
#include "core/nn/heads/multi_label_head.h"
#include "core/nn/heads/poisson_regression_head.h"
#include "core/nn/heads/regression_head.h"

namespace tpuest::nn {

// Any head that has a name.
using NamedHead = std::variant<MultiClassHead, BinaryClassHead, MultiLabelHead, RegressionHead,
                               PoissonRegressionHead, LogisticRegressionHead>;

// Takes logits [B, sum of the heads' dimensions], split in the order of the heads; labels are a
// dict by head name, each as its head takes it. The loss is the sum of weight times loss over the
// heads, plus the regularization losses once. Predictions: "<head>/<key>". Signatures:
// serving_default is the first head's default, "<head>" that head's default, "<head>/<key>" its
// other signatures, and `predict` returns all predictions. Metrics: those of the heads, and
// "loss/<head>", the mean of that head's loss over the batches.
struct MultiHead {
  static constexpr std::string_view kType = "MultiHead";
  static constexpr std::string_view kSummary =
      "several heads, each on its own logits; trains on the sum of their losses";
  std::vector<NamedHead> heads;
  std::vector<double> head_weights;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("heads", heads,
      {.help = "heads, each with a name, which is also the name of its label", .required = true});
    v("head_weights", head_weights, {.help = "weight of each head's loss; [] weighs all by 1"});
  }

  // The heads' names, joined by "_": the scope of its ops.
  [[nodiscard]] std::string scope_name() const;
  [[nodiscard]] int64_t logits_dimension() const;
  [[nodiscard]] Labels<LabelRange> label_ranges() const;
  // The loss_reduction that all heads share.
  [[nodiscard]] std::string reduction() const;
  // The weight columns of all heads, without duplicates.
  [[nodiscard]] std::set<std::string> weight_columns() const;
  // Throws Error kUsage, in TensorFlow's words, for heads that cannot be combined.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
