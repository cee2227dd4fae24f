#pragma once
// The computation of feature columns: graph nodes from features to ids, and from ids to numbers.
// Strings, tables and hashes are host ops, so they run ahead of the step and go into exports.

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
  Value there;    // bool [B, K]: there was a value, known or not; not valid(): everywhere
  int64_t buckets = 0;
  bool sequence = false;  // values are steps in time
};

// The rows `ids` of a table [buckets, D] float32, weighed and combined to [B, D]: "sum", "mean"
// (divided by the weights' sum) or "sqrtn" (by the root of their squares' sum); zeros where there
// is none. As tf.nn.safe_embedding_lookup_sparse has it, mean and sqrtn leave out weights that are
// not positive; of a sequence the mean over its steps. Rows longer than max_norm are shortened.
struct Combination {
  std::string combiner = "sum";
  std::optional<double> max_norm;
  bool trains = false;  // the gradient is asked for: it has TensorFlow's rows
  // The gradient has the rows that some example has, and no other, as a TPU's have.
  bool present_rows = false;
  const TableStart* start = nullptr;  // of a table whose rows may be kept (table_rows.h)
};
[[nodiscard]] Value CombinedRows(const Variable& table, const Categories& categories,
                                 const Combination& combination);

// The first n values of every example.
[[nodiscard]] Categories FirstOf(const Categories& categories, int64_t n);

// The columns of one batch. Each is computed once, however many columns and models use it.
class ColumnValues {
 public:
  // layers, columns and features outlive it. `present`, bool [B, K] by feature, tells the values of
  // lists from what fills them up; a feature without is dense. On a TPU gradients of tables have
  // the rows that are there alone.
  ColumnValues(LayerContext& layers, const ColumnSet& columns,
               const std::map<std::string, Value>& features,
               std::map<std::string, Value> present = {}, bool on_tpu = false)
      : layers_(layers),
        columns_(columns),
        features_(features),
        present_(std::move(present)),
        on_tpu_(on_tpu) {}

  // A categorical column by the job's name. Throws Error kUsage, in TensorFlow's words, at the
  // column's place: the feature is not there, or of another dtype or rank.
  const Categories& CategoriesOf(const std::string& job_name);
  // A dense column as float32 [B, n]. Variables of embeddings are
  // "<scope>/<column>/embedding_weights". Throws Error kUsage as above.
  [[nodiscard]] Value DenseOf(const ColumnRef& column, const std::string& scope);
  // The value of build(), which is what the column gives a model; recorded in the graph as
  // "<scope>/<column>".
  [[nodiscard]] Value Record(const ColumnRef& column, const std::string& scope,
                             const std::function<Value()>& build);

  [[nodiscard]] LayerContext& layers() const { return layers_; }
  [[nodiscard]] const ColumnSet& columns() const { return columns_; }

 private:
  struct Categorize;
  struct Densify;
  [[nodiscard]] Value Feature(const std::string& key) const;
  // The feature as a list an example: [B, K], strings or int64.
  [[nodiscard]] Value Lists(const std::string& key, DType dtype) const;
  // True where a feature's values [B, K] are there. Of dense input "" and -1 are absent, as
  // TensorFlow's columns take it; lists say themselves how long they are.
  [[nodiscard]] Value Present(const std::string& key, Value values) const;
  // A numeric column's values [B, n].
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
