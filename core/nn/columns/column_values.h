#pragma once
// Computes feature columns: graph nodes from features to ids, and from ids to numbers. Strings,
// tables and hashes are host ops, so they run before the device step and are exported.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/columns/column_set.h"
#include "core/nn/columns/table_rows.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// The values of a categorical column in a batch.
struct Categories {
  Value ids;      // int64 [B, K]; below 0: absent
  Value weights;  // float32 [B, K]; not valid(): all 1
  // bool [B, K]: true where there was a value, known or not; not valid(): true everywhere
  Value there;
  int64_t buckets = 0;
  bool sequence = false;  // values are time steps
};

// How the rows `ids` of a table [buckets, D] float32 are weighted and combined to [B, D]: "sum",
// "mean" (divided by the sum of the weights) or "sqrtn" (divided by the root of the sum of their
// squares); zeros if an example has no value. As in tf.nn.safe_embedding_lookup_sparse, mean and
// sqrtn ignore weights that are not positive. For a sequence the result is the mean over its steps.
// Rows longer than max_norm are shortened to it.
struct Combination {
  std::string combiner = "sum";
  std::optional<double> max_norm;
  bool trains = false;  // a gradient will be taken; it has the rows that TensorFlow's has
  // The gradient contains only the rows that an example uses, as on a TPU.
  bool present_rows = false;
  const TableStart* start = nullptr;  // for a table that may be kept by rows (table_rows.h)
};
[[nodiscard]] Value CombinedRows(const Variable& table, const Categories& categories,
                                 const Combination& combination);

// The first n values of every example.
[[nodiscard]] Categories FirstOf(const Categories& categories, int64_t n);

// The columns of one batch. Each is computed once, however many columns and models use it.
class ColumnValues {
 public:
  // layers, columns and features outlive it. `present`, bool [B, K] by feature, marks the values of
  // lists, as opposed to padding; a feature without an entry is dense. On a TPU, gradients of
  // tables contain only the rows that an example uses.
  ColumnValues(LayerContext& layers, const ColumnSet& columns,
               const std::map<std::string, Value>& features,
               std::map<std::string, Value> present = {}, bool on_tpu = false)
      : layers_(layers),
        columns_(columns),
        features_(features),
        present_(std::move(present)),
        on_tpu_(on_tpu) {}

  // Returns a categorical column by the job's name. Throws Error kUsage, in TensorFlow's words and
  // at the column's place, if the feature is missing or has another dtype or rank.
  const Categories& CategoriesOf(const std::string& job_name);
  // Returns a dense column as float32 [B, n]. Variables of embeddings are
  // "<scope>/<column>/embedding_weights". Throws as CategoriesOf does.
  [[nodiscard]] Value DenseOf(const ColumnRef& column, const std::string& scope);
  // Returns build()'s value, the column's contribution to a model, and records it in the graph as
  // "<scope>/<column>".
  [[nodiscard]] Value Record(const ColumnRef& column, const std::string& scope,
                             const std::function<Value()>& build);

  [[nodiscard]] LayerContext& layers() const { return layers_; }
  [[nodiscard]] const ColumnSet& columns() const { return columns_; }

 private:
  struct Categorize;
  struct Densify;
  [[nodiscard]] Value Feature(const std::string& key) const;
  // Returns the feature as one list per example: [B, K], strings or int64.
  [[nodiscard]] Value Lists(const std::string& key, DType dtype) const;
  // True where a feature has a value, [B, K]. In dense input "" and -1 are absent, as in
  // TensorFlow's columns; lists carry their own lengths.
  [[nodiscard]] Value Present(const std::string& key, Value values) const;
  // Returns a numeric column's values [B, n].
  [[nodiscard]] Value Numbers(const NumericColumn& column) const;
  [[nodiscard]] Value MeanOverSteps(const SequenceNumericColumn& column) const;
  [[nodiscard]] Value Indicator(const Categories& categories) const;
  [[nodiscard]] Value Embedding(const std::string& variable, const Categories& categories,
                                const EmbeddingOptions& options, const Place& place);

  LayerContext& layers_;
  const ColumnSet& columns_;
  const std::map<std::string, Value>& features_;
  const std::map<std::string, Value> present_;
  const bool on_tpu_;
  std::map<std::string, Categories> categories_;
};

}  // namespace tpuest::nn
