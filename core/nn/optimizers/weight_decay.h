#pragma once
// L2 decay of a model's weights: rate * the sum of w^2 / 2, added to the loss.

#include <string>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

struct WeightDecay {
  double rate = 0.0;
  std::vector<std::string> exclude = {".*batch_normalization.*", ".*bias"};

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "factor of half the sum of squares", .required = true});
    v("exclude", exclude, {.help = "patterns of names of variables that do not decay"});
  }
};

// The option of a job: a number is a rate, with the default exclusions.
using L2WeightDecay = std::variant<double, WeightDecay>;

// The penalty on all trainable variables that are not excluded, float32 []; not valid() if there is
// none.
[[nodiscard]] Value WeightDecayLoss(Graph& graph, const L2WeightDecay& decay);

}  // namespace tpuest::nn
