#pragma once
// TPUEstimator's embedding_config_spec: which tables of a model are trained by optimizers of their
// own, on rows (optimizers/table_updates.h). They are those of feature columns, or tables that the
// job names beside the features that look them up.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/nn/columns/column_set.h"
#include "core/nn/optimizers/table_training.h"

namespace tpuest::nn {

// A feature of whole numbers that looks up a table: the model gets its rows, combined to [B, D], in
// its place; with max_sequence_length the first steps' rows one by one, [B, steps, D], zeros behind
// them, and <feature>_seq_length_, how many there are.
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

// True for the columns whose tables a spec trains.
[[nodiscard]] bool IsTable(const FeatureColumn& column);

// What of a job bears on its spec.
struct SpecContext {
  const ColumnSet& columns;
  bool use_tpu = true;
  bool eval_on_tpu = true;
  // The columns that the model takes; nullopt: it takes none.
  std::optional<std::vector<ColumnRef>> used;
};

// The faults of a spec, in TensorFlow's words where it has some, each with the key it is of.
[[nodiscard]] std::vector<Fault> CheckSpec(const EmbeddingConfigSpec& spec,
                                           const SpecContext& context);

// The tables of a graph that a spec trains by their own optimizers, as on a TPU. Throws Error
// kUsage for a column that the graph has no table of.
[[nodiscard]] TableTraining TablesOf(const EmbeddingConfigSpec& spec, const ColumnSet& columns,
                                     const Graph& graph);

// Says of the tables that a graph has of a spec that it reads some rows of them
// (Variable::by_rows): for graphs that do not train.
void KeepTablesByRows(const EmbeddingConfigSpec& spec, const ColumnSet& columns, Graph& graph);

}  // namespace tpuest::nn
