#pragma once
// Plans the parsing of a batch of tf.Examples, for ParseExample and ParseExampleV2.

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/plan.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// The positions of keys, defaults and results among the inputs and outputs of a node.
struct ParseLayout {
  explicit ParseLayout(const Node& node);

  [[nodiscard]] int first_sparse_key() const { return 2; }
  [[nodiscard]] int first_dense_key() const { return v2 ? 3 : 2 + sparse; }
  [[nodiscard]] int first_default() const { return v2 ? 5 : 2 + sparse + dense; }
  [[nodiscard]] int first_dense() const { return 3 * sparse; }
  [[nodiscard]] int indices(int i) const { return i; }
  [[nodiscard]] int values(int i) const { return sparse + i; }
  [[nodiscard]] int shape(int i) const { return 2 * sparse + i; }

  bool v2;  // keys are vectors: one input each for all sparse and all dense keys
  int dense;
  int sparse;
  int ragged;
};

// The keys of all sparse features, or of all dense ones; empty if an input that holds some is no
// constant.
[[nodiscard]] std::vector<std::string> SparseKeys(const Node& node);
[[nodiscard]] std::vector<std::string> DenseKeys(const Node& node);

// Counts the values that the examples hold in all under each key. Error kData if an example is
// damaged.
[[nodiscard]] std::vector<int64_t> CountValues(const Tensor& serialized,
                                               const std::vector<std::string>& keys);

void PlanParseExample(PlanContext& context);

}  // namespace tpuest::ops
