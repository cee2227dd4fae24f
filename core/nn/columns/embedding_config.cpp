#include "core/nn/columns/embedding_config.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/faults.h"
#include "core/base/text.h"
#include "core/nn/job_place.h"

namespace tpuest::nn {
namespace {

const TableLookup* LookupOf(const FeatureColumn& column) {
  return std::visit(
      []<class T>(const T& c) -> const TableLookup* {
        if constexpr (requires { c.lookup; }) return &c.lookup;
        return nullptr;
      },
      column);
}

// The categorical columns that an embedding of a TPU looks up.
std::vector<std::string> CategoricalsOf(const FeatureColumn& column) {
  if (const std::vector<std::string>* const members = MembersOf(column)) return *members;
  const auto* const single = std::get_if<TpuEmbeddingColumn>(&column);
  return single == nullptr ? std::vector<std::string>() : std::vector{single->categorical_column};
}

std::string_view NameOfType(const FeatureColumn& column) {
  return std::visit([]<class T>(const T& /*c*/) { return T::kType; }, column);
}

// TensorFlow counts rows and steps of a table by int32.
constexpr int64_t kMostOfATable = std::numeric_limits<int32_t>::max();

constexpr std::string_view kAllowed =
    "(tpu.experimental.embedding_column, tpu.experimental.shared_embedding_columns)";

class SpecCheck {
 public:
  SpecCheck(const EmbeddingConfigSpec& spec, const SpecContext& context)
      : spec_(spec), context_(context) {}

  std::vector<Fault> Run() {
    const bool has_features = !spec_.feature_to_config_dict.empty();
    const bool is_one = spec_.feature_columns.empty() ? has_features && spec_.names_tables()
                                                      : !has_features && !spec_.names_tables();
    if (!is_one) {
      faults_.Say("",
                  "Exactly one of `feature_columns` and the pair `feature_to_config_dict` and "
                  "`table_to_config_dict` must be be specified.",
                  "feature_columns: [NAME], or both dictionaries");
      return faults_.Take();
    }
    CheckStrategy();
    if (spec_.feature_columns.empty()) {
      CheckFeatures();
      CheckTables();
    } else {
      CheckColumns();
    }
    if (spec_.optimization_parameters) CheckOptimizer(*spec_.optimization_parameters);
    return faults_.Take();
  }

 private:
  void CheckOptimizer(const TableOptimizer& optimizer) {
    faults_.Catch([&] { CheckOptions(optimizer); });
    if (!spec_.pipeline_execution_with_tensor_core) return;
    if (RowOptionsOf(optimizer).use_gradient_accumulation) return;
    faults_.Add({.message = "pipeline_execution_with_tensor_core sums the gradients that wait, but "
                            "use_gradient_accumulation is false",
                 .hint = "leave out one of them",
                 .place = PlaceOf(optimizer)});
  }

  void CheckStrategy() {
    const std::string& strategy = spec_.partition_strategy;
    if (strategy == "div") return;
    if (strategy != "mod") {
      faults_.Say("partition_strategy",
                  fmt::format("Invalid partition_strategy {}. Must be one of \"mod\" or \"div\".",
                              strategy),
                  "partition_strategy: div");
    } else if (!context_.use_tpu || !context_.eval_on_tpu) {
      faults_.Say("partition_strategy", "Mod sharding of embedding tables not supported on CPU.",
                  "partition_strategy: div");
    }
  }

  void CheckColumns() {
    if (!spec_.optimization_parameters || !IsOfColumns(*spec_.optimization_parameters)) {
      faults_.Say("optimization_parameters",
                  fmt::format("optimization_parameters must be an instance of type "
                              "(ProximalAdagradParameters, AdagradParameters, AdamParameters, "
                              "FtrlParameters, StochasticGradientDescentParameters, "
                              "MomentumParameters, RMSPropParameters). Got {}.",
                              spec_.optimization_parameters ? TypeOf(*spec_.optimization_parameters)
                                                            : "NoneType"),
                  "optimization_parameters: {type: AdagradParameters, learning_rate: 0.1}");
    }
    std::map<std::string, std::string> tables;  // by the feature that looks them up
    for (size_t i = 0; i < spec_.feature_columns.size(); ++i) {
      const std::string key = fmt::format("feature_columns.{}", i);
      const std::string& name = spec_.feature_columns[i];
      if (!context_.columns.Has(name)) {
        faults_.Say(key, fmt::format("'{}' is not in feature_columns", name),
                    "define it in the job's feature_columns");
        continue;
      }
      CheckColumnOf(key, name, context_.columns.At(name, {}), tables);
    }
    if (context_.use_tpu) CheckModel();
  }

  static bool IsOfColumns(const TableOptimizer& optimizer) {
    return !std::holds_alternative<AdagradMomentumParameters>(optimizer) &&
           !std::holds_alternative<ProximalYogiParameters>(optimizer) &&
           !std::holds_alternative<FrequencyEstimatorParameters>(optimizer);
  }

  void CheckColumnOf(const std::string& key, const std::string& name, const FeatureColumn& column,
                     std::map<std::string, std::string>& tables) {
    const bool is_supported = LookupOf(column) != nullptr ||
                              std::holds_alternative<NumericColumn>(column) ||
                              std::holds_alternative<EmbeddingColumn>(column) ||
                              std::holds_alternative<SharedEmbeddingColumns>(column);
    if (!is_supported) {
      faults_.Say(key,
                  fmt::format("All feature columns must be supported types in (numeric_column, "
                              "tpu.experimental.embedding_column, "
                              "tpu.experimental.shared_embedding_columns, embedding_column, "
                              "shared_embedding_columns). Got {}",
                              NameOfType(column)),
                  "the model's feature_columns name all its columns; these name only its tables");
      return;
    }
    if (!context_.use_tpu) return;
    if (LookupOf(column) == nullptr) {
      faults_.Say(key,
                  fmt::format("Unsupported feature column {}. Supported types are {}.",
                              NameOfType(column), kAllowed),
                  "type: tpu.experimental.embedding_column");
      return;
    }
    if (!IsTable(column)) return;
    faults_.Catch([&] {
      for (const std::string& categorical : CategoricalsOf(column)) {
        faults_.Expect(
            context_.columns.BucketsOf(categorical) <= kMostOfATable, key,
            fmt::format("'{}' has {} categories, but a table can have at most {} rows", categorical,
                        context_.columns.BucketsOf(categorical), kMostOfATable));
        const std::string feature = FeatureOf(categorical);
        if (tables.emplace(feature, name).second) continue;
        faults_.Say(key,
                    fmt::format("Feature column {} is used with multiple embeddings and this is "
                                "not supported.",
                                feature),
                    fmt::format("'{}' uses it as well", tables.at(feature)));
      }
    });
  }

  // TensorFlow's name of what is enqueued for a categorical column: weights come beside it.
  [[nodiscard]] std::string FeatureOf(const std::string& categorical) const {
    const auto* const weighted =
        std::get_if<WeightedCategoricalColumn>(&context_.columns.At(categorical, {}));
    return context_.columns.NameOf(weighted == nullptr ? categorical
                                                       : weighted->categorical_column);
  }

  // The model takes the spec's tables, and no other of a TPU's.
  void CheckModel() {
    std::set<std::string> used;
    if (context_.used) {
      for (const ColumnRef& column : *context_.used) used.insert(column.job_name);
    }
    for (size_t i = 0; i < spec_.feature_columns.size(); ++i) {
      const std::string& name = spec_.feature_columns[i];
      if (!context_.columns.Has(name) || !IsTable(context_.columns.At(name, {}))) continue;
      if (used.erase(name) > 0) continue;
      faults_.Say(fmt::format("feature_columns.{}", i),
                  "Embedding feature column did not capture any thing. Make sure the feature "
                  "columns passed to TPUEstimator constructor is properly used in model_fn.",
                  fmt::format("'{}' is not in the model's feature_columns", name));
    }
    for (const std::string& name : used) {
      const FeatureColumn& column = context_.columns.At(name, {});
      if (!IsTable(column)) continue;
      faults_.Say("feature_columns",
                  fmt::format("'{}', a {}, is missing here", name, NameOfType(column)),
                  "add it here, or make it a core column: embedding_column");
    }
  }

  void CheckFeatures() {
    for (const auto& [name, feature] : spec_.feature_to_config_dict) {
      const std::string key = fmt::format("feature_to_config_dict.{}", name);
      if (!spec_.table_to_config_dict.contains(feature.table_id)) {
        faults_.Say(key + ".table_id",
                    fmt::format("Feature {} refers to table {} which is not in the "
                                "table_to_config_dict.",
                                name, feature.table_id),
                    "there are: " + Join(TableNames(), ", "));
        continue;
      }
      faults_.Expect(feature.max_sequence_length >= 0, key + ".max_sequence_length",
                     fmt::format("max_sequence_length must be zero or a positive int, got {}.",
                                 feature.max_sequence_length));
      faults_.Expect(feature.max_sequence_length <= kMostOfATable, key + ".max_sequence_length",
                     fmt::format("max_sequence_length is {}, expected at most {}",
                                 feature.max_sequence_length, kMostOfATable));
      const TableConfig& table = spec_.table_to_config_dict.at(feature.table_id);
      if (feature.weight_key && !table.combiner) {
        faults_.Say(key + ".weight_key",
                    fmt::format("Found weights {} for weighted_categorical_column, which is "
                                "notcompatible with sparse feature {} enqueued as dense tensor.",
                                *feature.weight_key, name),
                    "set the table's combiner");
      } else if (feature.weight_key && feature.max_sequence_length > 0) {
        faults_.Say(key + ".weight_key", "the steps of a sequence cannot have weights",
                    "remove weight_key or max_sequence_length");
      }
    }
  }

  [[nodiscard]] std::vector<std::string> TableNames() const {
    std::vector<std::string> names;
    for (const auto& [name, table] : spec_.table_to_config_dict) names.push_back(name);
    return names;
  }

  void CheckTables() {
    for (const auto& [name, table] : spec_.table_to_config_dict) {
      CheckTable(fmt::format("table_to_config_dict.{}", name), name, table);
    }
  }

  void CheckTable(const std::string& key, const std::string& name, const TableConfig& table) {
    faults_.Expect(table.vocabulary_size >= 1, key + ".vocabulary_size",
                   fmt::format("vocabulary_size must >= 1. Received: {}.", table.vocabulary_size));
    faults_.Expect(table.dimension >= 1, key + ".dimension",
                   fmt::format("dimension must be a positive int. Received: {}.", table.dimension));
    faults_.Expect(table.vocabulary_size <= kMostOfATable && table.dimension <= kMostOfATable, key,
                   fmt::format("a table can have at most {} rows, and as many numbers per row",
                               kMostOfATable));
    if (table.learning_rate && table.learning_rate_fn) {
      faults_.Say(key + ".learning_rate",
                  fmt::format("At most one of learning_rate and learning_rate_fn can be None. "
                              "Received: {} and a function",
                              NumberText(*table.learning_rate)),
                  "leave out one of them");
    }
    const bool is_used =
        std::any_of(spec_.feature_to_config_dict.begin(), spec_.feature_to_config_dict.end(),
                    [&](const auto& feature) { return feature.second.table_id == name; });
    faults_.Expect(is_used, key,
                   fmt::format("`table_to_config_dict` specifies table that is not used in "
                               "`feature_to_config_dict`: {}.",
                               name),
                   "remove it, or let a feature look it up");
    const std::optional<TableOptimizer>& optimizer = table.optimization_parameters
                                                         ? table.optimization_parameters
                                                         : spec_.optimization_parameters;
    if (!optimizer) {
      faults_.Say(key, "`optimization_parameters` is missing.",
                  "set it for the table, or set embedding_config_spec.optimization_parameters for "
                  "all tables");
      return;
    }
    if (table.optimization_parameters) CheckOptimizer(*optimizer);
    if (!std::holds_alternative<FrequencyEstimatorParameters>(*optimizer)) return;
    faults_.Expect(table.dimension == 1, key + ".dimension",
                   fmt::format("FrequencyEstimator tables should only have a dimension of 1. "
                               "Received dimension {}",
                               table.dimension));
    faults_.Expect(table.learning_rate_fn.has_value(), key,
                   "FrequencyEstimator needs the step as the table's learning rate",
                   "learning_rate_fn: (step)");
  }

  const EmbeddingConfigSpec& spec_;
  const SpecContext& context_;
  Faults faults_{"embedding_config_spec"};
};

// The variables of a graph that are a column's table: one, if the model takes the column as it
// should.
std::vector<std::string> VariablesOf(const ColumnSet& columns, const std::string& name,
                                     const Graph& graph) {
  const FeatureColumn& column = columns.At(name, {});
  if (const auto* const shared = std::get_if<TpuSharedEmbeddingColumns>(&column)) {
    const std::string variable = ScopeOf(SharedName(columns, *shared));
    if (graph.FindVariable(variable) == nullptr) return {};
    return {variable};
  }
  std::vector<std::string> found;
  const std::string ending = fmt::format("/{}/embedding_weights", ScopeOf(columns.NameOf(name)));
  for (const auto& variable : graph.variables()) {
    if (variable->name.ends_with(ending)) found.push_back(variable->name);
  }
  return found;
}

// Returns the variable of a column's table. Throws Error kUsage, in TensorFlow's words, if there
// are none or several.
std::string VariableOf(const ColumnSet& columns, const std::string& name, const Graph& graph) {
  const FeatureColumn& column = columns.At(name, {});
  const std::vector<std::string> found = VariablesOf(columns, name, graph);
  if (found.empty()) {
    Refuse(PlaceOf(column),
           "Embedding feature column did not capture any thing. Make sure the feature columns "
           "passed to TPUEstimator constructor is properly used in model_fn.");
  }
  if (found.size() > 1) {
    Refuse(PlaceOf(column),
           fmt::format("For embedding var name {}, the variable scope name is different, got {}; "
                       "expected {}",
                       columns.NameOf(name), found[1], found[0]));
  }
  return found[0];
}

std::optional<LearningRate> RateOfTable(const TableConfig& table) {
  if (table.learning_rate.value_or(0) != 0) return *table.learning_rate;
  return table.learning_rate_fn;
}

}  // namespace

bool IsTable(const FeatureColumn& column) {
  const TableLookup* const lookup = LookupOf(column);
  return lookup != nullptr && !lookup->on_tensor_core();
}

std::vector<Fault> CheckSpec(const EmbeddingConfigSpec& spec, const SpecContext& context) {
  return SpecCheck(spec, context).Run();
}

TableTraining TablesOf(const EmbeddingConfigSpec& spec, const ColumnSet& columns,
                       const Graph& graph) {
  TableTraining training{.tables = {},
                         .gradient_multiplier = spec.experimental_gradient_multiplier_fn,
                         .pipelined = spec.pipeline_execution_with_tensor_core};
  for (const std::string& name : spec.feature_columns) {
    const FeatureColumn& column = columns.At(name, {});
    if (!IsTable(column)) continue;
    training.tables.push_back({.variable = VariableOf(columns, name, graph),
                               .optimizer = *spec.optimization_parameters,
                               .learning_rate = LookupOf(column)->learning_rate_fn});
  }
  for (const auto& [name, table] : spec.table_to_config_dict) {
    training.tables.push_back({.variable = ScopeOf(name),
                               .optimizer = table.optimization_parameters
                                                ? *table.optimization_parameters
                                                : *spec.optimization_parameters,
                               .learning_rate = RateOfTable(table)});
  }
  return training;
}

void KeepTablesByRows(const EmbeddingConfigSpec& spec, const ColumnSet& columns, Graph& graph) {
  std::vector<std::string> names;
  for (const std::string& name : spec.feature_columns) {
    if (!columns.Has(name) || !IsTable(columns.At(name, {}))) continue;
    const std::vector<std::string> found = VariablesOf(columns, name, graph);
    names.insert(names.end(), found.begin(), found.end());
  }
  for (const auto& [name, table] : spec.table_to_config_dict) names.push_back(ScopeOf(name));
  for (const std::string& name : names) {
    Variable* const variable = graph.FindVariable(name);
    if (variable == nullptr) continue;
    variable->by_rows = true;
    variable->table = name;
  }
}

}  // namespace tpuest::nn
