#include "models/table_lookup.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/nn/columns/column_values.h"
#include "core/nn/job_place.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::models {
namespace {

constexpr std::string_view kWeighted = " weighted";

// The features as columns, by their names: identity columns, some of them weighted.
nn::FeatureColumns LookupColumns(const nn::EmbeddingConfigSpec& spec) {
  nn::FeatureColumns columns;
  for (const auto& [name, feature] : spec.feature_to_config_dict) {
    const int64_t rows = spec.table_to_config_dict.at(feature.table_id).vocabulary_size;
    if (feature.max_sequence_length > 0) {
      columns[name] =
          nn::SequenceIdentityColumn{.key = name, .num_buckets = rows, .place = feature.place};
    } else {
      columns[name] = nn::IdentityColumn{.key = name, .num_buckets = rows, .place = feature.place};
    }
    if (!feature.weight_key) continue;
    columns[name + std::string(kWeighted)] =
        nn::WeightedCategoricalColumn{.categorical_column = name,
                                      .weight_feature_key = *feature.weight_key,
                                      .place = feature.place};
  }
  return columns;
}

// The first feature that looks a table up makes it, in its own scope.
std::string ScopeOfTable(const nn::EmbeddingConfigSpec& spec, const std::string& name) {
  const auto& features = spec.feature_to_config_dict;
  const auto first = std::find_if(features.begin(), features.end(), [&](const auto& feature) {
    return feature.second.table_id == name;
  });
  return first == features.end() ? "" : nn::ScopeOf(first->first);
}

nn::TableStart StartOf(const nn::EmbeddingConfigSpec& spec, const std::string& name) {
  const nn::TableConfig& table = spec.table_to_config_dict.at(name);
  const auto dimension = static_cast<double>(table.dimension);
  return {Shape({table.vocabulary_size, table.dimension}),
          table.initializer.value_or(
              nn::TruncatedNormalInitializer{.mean = 0, .stddev = 1 / std::sqrt(dimension)}),
          ScopeOfTable(spec, name)};
}

const Variable& TableOf(nn::LayerContext& layers, const std::string& name,
                        const nn::TableStart& start) {
  const std::string variable = nn::ScopeOf(name);
  if (const Variable* const there = layers.graph.FindVariable(variable)) return *there;
  return *nn::AddWeight(layers, variable, start.shape, start.initializer);
}

// The optimizer of a table that says what its rows mean: a count.
const nn::FrequencyEstimatorParameters* FrequencyOf(const nn::EmbeddingConfigSpec& spec,
                                                    const nn::TableConfig& table) {
  const auto& own =
      table.optimization_parameters ? table.optimization_parameters : spec.optimization_parameters;
  return own ? std::get_if<nn::FrequencyEstimatorParameters>(&*own) : nullptr;
}

class TableLookups {
 public:
  TableLookups(const nn::EmbeddingConfigSpec& spec, nn::LayerContext& layers,
               nn::ColumnValues& values, bool on_tpu)
      : spec_(spec), layers_(layers), values_(values), on_tpu_(on_tpu) {}

  // Puts what a feature looks up in its place.
  void Put(const std::string& name, const nn::FeatureConfig& feature, ModelInputs& inputs) {
    const nn::TableConfig& table = spec_.table_to_config_dict.at(feature.table_id);
    const NameScope scope(layers_.graph, nn::ScopeOf(name));
    const nn::TableStart start = StartOf(spec_, feature.table_id);
    const Variable& variable = TableOf(layers_, feature.table_id, start);
    const nn::Categories& ids =
        values_.CategoriesOf(feature.weight_key ? name + std::string(kWeighted) : name);
    if (feature.max_sequence_length > 0) {
      PutSteps(name, feature, variable, start, ids, inputs);
    } else {
      CheckWidth(name, feature, table, ids);
      const nn::Combination combination{.combiner = table.combiner.value_or("sum"),
                                        .trains = layers_.training,
                                        .present_rows = on_tpu_,
                                        .start = &start};
      inputs.features[name] = nn::CombinedRows(variable, ids, combination);
    }
    if (const auto* const frequency = FrequencyOf(spec_, table)) {
      const Value part = ops::RealDiv(inputs.features[name], frequency->max_delta);
      inputs.features[name] = ops::Pow(part, frequency->weight_exponent);
    }
    inputs.present.erase(name);
  }

 private:
  // Some tables accept only one value per example.
  void CheckWidth(const std::string& name, const nn::FeatureConfig& feature,
                  const nn::TableConfig& table, const nn::Categories& ids) const {
    if (ids.ids.shape().dim(1) == 1) return;
    if (!table.combiner) {
      nn::Refuse(
          feature.place,
          fmt::format("feature '{}' has several values per example, but table '{}' has no combiner",
                      name, feature.table_id),
          "combiner: mean");
    }
    if (FrequencyOf(spec_, table) == nullptr) return;
    nn::Refuse(
        feature.place,
        fmt::format("feature '{}' has several values per example, but FrequencyEstimator takes one",
                    name));
  }
  // Adds the rows of the first steps, padded with zeros, and the number of steps.
  void PutSteps(const std::string& name, const nn::FeatureConfig& feature, const Variable& table,
                const nn::TableStart& start, const nn::Categories& ids, ModelInputs& inputs) {
    Graph& graph = layers_.graph;
    const int64_t steps = feature.max_sequence_length;
    const Value none = graph.Scalar<int64_t>(-1);
    const Value zero = graph.Scalar<int64_t>(0);
    // Counts numbers from 1, so that the 0 that pads lists to the steps means no row.
    const Value counted =
        ops::AddV2(ops::SelectV2(ids.there, ids.ids, none), graph.Scalar<int64_t>(1));
    const Value filled = ops::Pad(counted, {{0, 0}, {0, steps}});
    const Value first = ops::StridedSlice(
        filled, {.begin = {0, 0}, .end = {0, steps}, .begin_mask = 3, .end_mask = 1});
    const Value present = ops::Greater(first, zero);
    const Value asked = ops::Maximum(ops::Sub(first, graph.Scalar<int64_t>(1)), zero);
    const Value rows = nn::TableRows(
        table, start, on_tpu_ ? ops::Maximum(ops::SelectV2(present, asked, none), zero) : asked);
    const Value zeros = graph.ScalarOf(DType::kFloat, 0);
    inputs.features[name] = ops::SelectV2(ops::ExpandDims(present, -1), rows, zeros);
    inputs.features[name + "_seq_length_"] = ops::Sum(ops::Cast(present, DType::kInt64), {1});
  }

  const nn::EmbeddingConfigSpec& spec_;
  nn::LayerContext& layers_;
  nn::ColumnValues& values_;
  const bool on_tpu_;
};

}  // namespace

ModelInputs WithTableRows(Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params,
                          const JobContext& job) {
  const nn::EmbeddingConfigSpec& spec = *job.embedding_config_spec;
  const nn::FeatureColumns columns = LookupColumns(spec);
  const nn::ColumnSet set(columns);
  nn::LayerContext layers = MakeLayerContext(graph, mode, params, "float32");
  nn::ColumnValues values(layers, set, inputs.features, inputs.present, params.use_tpu);
  TableLookups lookup(spec, layers, values, params.use_tpu);
  ModelInputs result = inputs;
  for (const auto& [name, feature] : spec.feature_to_config_dict) {
    nn::AtPlace(graph, feature.place,
                [&, &name = name, &feature = feature] { lookup.Put(name, feature, result); });
  }
  for (const auto& [name, feature] : spec.feature_to_config_dict) {
    if (!feature.weight_key) continue;
    result.features.erase(*feature.weight_key);
    result.present.erase(*feature.weight_key);
  }
  return result;
}

nn::TableTraining TrainedTables(const Graph& graph, const Params& params, const JobContext& job) {
  if (!job.embedding_config_spec || !params.use_tpu) return {};
  return nn::TablesOf(*job.embedding_config_spec, nn::ColumnSet(job.feature_columns), graph);
}

}  // namespace tpuest::models
