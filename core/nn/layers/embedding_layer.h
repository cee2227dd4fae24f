#pragma once
// Looks up rows of a table by number: Keras' Embedding.

#include <cstdint>
#include <string>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Returns the rows of `embeddings` [input_dim, output_dim] that integers [...] name: [...,
// output_dim]. Other numbers are truncated to int32.
struct Embedding {
  static constexpr std::string_view kType = "embedding";
  static constexpr std::string_view kSummary = "a trained vector per number";
  static constexpr std::string_view kAliases[] = {"Embedding"};
  static constexpr bool kTakesAnything = true;
  int64_t input_dim = 0;
  int64_t output_dim = 0;
  Initializer embeddings_initializer = RandomUniformInitializer{};
  Regularizer embeddings_regularizer;
  Regularizer activity_regularizer;
  Constraint embeddings_constraint;
  std::string combiner;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("input_dim", input_dim,
      {.help = "number of rows: the largest number plus 1", .required = true});
    v("output_dim", output_dim, {.help = "width of a row", .required = true});
    v("embeddings_initializer", embeddings_initializer, {.help = "initial values of the table"});
    v("embeddings_regularizer", embeddings_regularizer, {.help = "penalty on the table"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("embeddings_constraint", embeddings_constraint,
      {.help = "limit on the table, applied after each update"});
    v("combiner", combiner,
      {.help = "combines the rows of a list of any length into one, as "
               "tf.nn.safe_embedding_lookup_sparse does; default: one row per value",
       .tpuest = true,
       .values = {"", "sum", "mean", "sqrtn"}});
    VisitVariables(v, *this, "name of the layer and of its variables; default: embedding, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
