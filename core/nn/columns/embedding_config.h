#pragma once
// TPUEstimator's embedding_config_spec: the tables of a model that their own optimizers train by
// rows (optimizers/table_updates.h). They belong to feature columns, or the job names them together
// with the features that look them up.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/nn/columns/column_set.h"
#include "core/nn/optimizers/table_training.h"

namespace tpuest::nn {

// An integer feature that looks up a table. It is replaced by the table's rows, combined to [B, D].
// With max_sequence_length it is replaced by the rows of its first steps, [B, steps, D], padded
// with zeros, and <feature>_seq_length_, the number of these rows.
struct FeatureConfig {
  std::string table_id;
  int64_t max_sequence_length = 0;
  std::optional<std::string> weight_key;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("table_id", table_id, {.help = "name of a table in table_to_config_dict", .required = true});
    v("max_sequence_length", max_sequence_length,
      {.help = "number of steps of a sequence to look up, each as a row; 0 combines the values "
               "instead"});
    v("weight_key", weight_key, {.help = "feature that holds the weights of the values"});
  }
};

struct TableConfig {
  int64_t vocabulary_size = 0;
  int64_t dimension = 0;
  std::optional<Initializer> initializer;
  std::optional<std::string> combiner = "mean";
  std::optional<double> learning_rate;
  std::optional<LearningRate> learning_rate_fn;
  std::optional<TableOptimizer> optimization_parameters;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("vocabulary_size", vocabulary_size, {.help = "number of rows", .required = true});
    v("dimension", dimension, {.help = "width of a row", .required = true});
    v("initializer", initializer, {.help = kTableInitializerHelp});
    v("combiner", combiner,
      {.help =
           "how to combine the rows of an example into one; `null` if each example has one value",
       .values = {"mean", "sum", "sqrtn"}});
    v("learning_rate", learning_rate,
      {.help = "learning rate of this table; exclusive with learning_rate_fn"});
    v("learning_rate_fn", learning_rate_fn,
      {.help = "learning rate of this table as a function of global_step; exclusive with "
               "learning_rate"});
    v("optimization_parameters", optimization_parameters,
      {.help = "optimizer of this table; `null` uses that of embedding_config_spec"});
  }
};

struct EmbeddingConfigSpec {
  std::vector<std::string> feature_columns;
  std::optional<TableOptimizer> optimization_parameters;
  bool pipeline_execution_with_tensor_core = false;
  std::optional<LearningRate> experimental_gradient_multiplier_fn;
  std::map<std::string, FeatureConfig> feature_to_config_dict;
  std::map<std::string, TableConfig> table_to_config_dict;
  std::string partition_strategy = "div";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("feature_columns", feature_columns,
      {.help = "names of feature_columns whose tables to train; those of tpu.experimental, and "
               "with `use_tpu: false` also others"});
    v("optimization_parameters", optimization_parameters,
      {.help = "optimizer of tables that name no other"});
    v("pipeline_execution_with_tensor_core", pipeline_execution_with_tensor_core,
      {.help =
           "`true` looks up the rows of a step before the previous step's gradients are applied"});
    v("experimental_gradient_multiplier_fn", experimental_gradient_multiplier_fn,
      {.help = "factor of the tables' gradients, a function of global_step"});
    v("feature_to_config_dict", feature_to_config_dict,
      {.help = "features that look up tables of table_to_config_dict"});
    v("table_to_config_dict", table_to_config_dict,
      {.help = "tables by name; replaces feature_columns"});
    v("partition_strategy", partition_strategy,
      {.help = "partition of slices in checkpoints of several hosts: div or mod; tpuest writes "
               "whole tables",
       .changes_bits = false});
  }

  // True if the tables are named in the job, not by feature columns.
  [[nodiscard]] bool names_tables() const { return !table_to_config_dict.empty(); }
};

// True for a column whose table a spec trains.
[[nodiscard]] bool IsTable(const FeatureColumn& column);

// The parts of a job that a spec depends on.
struct SpecContext {
  const ColumnSet& columns;
  bool use_tpu = true;
  bool eval_on_tpu = true;
  // The columns that the model takes; nullopt if it takes none.
  std::optional<std::vector<ColumnRef>> used;
};

// Returns the faults of a spec, each with its key, in TensorFlow's words if it has an error for the
// case.
[[nodiscard]] std::vector<Fault> CheckSpec(const EmbeddingConfigSpec& spec,
                                           const SpecContext& context);

// Returns the tables of a graph that a spec trains by their own optimizers, as on a TPU. Throws
// Error kUsage for a column whose table is not in the graph.
[[nodiscard]] TableTraining TablesOf(const EmbeddingConfigSpec& spec, const ColumnSet& columns,
                                     const Graph& graph);

// Marks the graph's tables that belong to a spec as read by rows (Variable::by_rows), for graphs
// that do not train.
void KeepTablesByRows(const EmbeddingConfigSpec& spec, const ColumnSet& columns, Graph& graph);

}  // namespace tpuest::nn
