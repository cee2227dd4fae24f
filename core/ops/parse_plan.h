#pragma once
// Plans ParseExample and ParseExampleV2, which parse a batch of tf.Examples.

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/plan.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// The positions of keys, defaults and results among a node's inputs and outputs.
struct ParseLayout {
  explicit ParseLayout(const Node& node);

  [[nodiscard]] int first_sparse_key() const { return 2; }
  [[nodiscard]] int first_dense_key() const { return v2 ? 3 : 2 + sparse; }
  [[nodiscard]] int first_default() const { return v2 ? 5 : 2 + sparse + dense; }
  [[nodiscard]] int first_dense() const { return 3 * sparse; }
  [[nodiscard]] int indices(int i) const { return i; }
  [[nodiscard]] int values(int i) const { return sparse + i; }
  [[nodiscard]] int shape(int i) const { return 2 * sparse + i; }

  bool v2;  // keys are vectors: one input for all sparse and one for all dense keys
  int dense;
  int sparse;
  int ragged;
};

// Returns the keys of all sparse features, or of all dense ones; empty if an input with keys is not
// constant.
[[nodiscard]] std::vector<std::string> SparseKeys(const Node& node);
[[nodiscard]] std::vector<std::string> DenseKeys(const Node& node);

// Returns the total number of values that the examples hold under each key. Throws Error kData for
// a damaged example.
[[nodiscard]] std::vector<int64_t> CountValues(const Tensor& serialized,
                                               const std::vector<std::string>& keys);

void PlanParseExample(PlanContext& context);

}  // namespace tpuest::ops
