#pragma once
// L2 decay of a model's weights: rate * the sum of w^2 / 2, added to the loss.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"
#include "core/nn/optimizers/table_training.h"

namespace tpuest::nn {

struct WeightDecay {
  std::optional<double> rate;
  std::optional<double> scale;  // a synonym, as in TensorFlow's l2_regularizer
  std::vector<std::string> exclude = {".*batch_normalization.*", ".*bias"};

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "factor of half the sum of squares; exclusive with scale"});
    v("scale", scale, {.help = "another name of rate; exclusive with rate"});
    v("exclude", exclude, {.help = "patterns of names of variables without weight decay"});
  }
};

// The job's option: a number is a rate with the default exclusions.
using L2WeightDecay = std::variant<double, WeightDecay>;

// Returns the penalty on all trainable variables that are neither excluded nor tables, float32 [];
// not valid() if there is none. Throws Error kUsage at model.l2_weight_decay for neither or both of
// rate and scale.
[[nodiscard]] Value WeightDecayLoss(Graph& graph, const L2WeightDecay& decay,
                                    const TableTraining& tables = {});

}  // namespace tpuest::nn
