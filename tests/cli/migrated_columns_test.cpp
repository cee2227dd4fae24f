// Columns and models found in files that TensorFlow wrote (tests/testdata/old_estimators).

#include <doctest/doctest.h>

#include "cli/prepare/migrate/columns/columns.h"
#include "cli/prepare/migrate/model/model.h"

namespace tpuest::cli {
namespace {

std::string Folder(const std::string& name) {
  return std::string(SOURCE_ROOT "/tests/testdata/old_estimators/") + name;
}

struct Old {
  explicit Old(const std::string& name)
      : variables(Folder(name) + "/model.ckpt-20"),
        graph(Folder(name) + (name == "regressor" ? "/graph.pbtxt" : "/model.ckpt-20.meta")),
        columns(FindColumns(graph, variables)) {}
  BundleReader variables;
  SeenGraph graph;
  MigratedColumns columns;
};

std::vector<std::string> LinesOf(const MigratedModel& model) {
  std::vector<std::string> lines;
  for (const MigratedLine& line : model.lines) lines.push_back(line.text);
  return lines;
}

TEST_CASE("columns are found by what their nodes do") {
  const Old linear("linear");
  CHECK(linear.columns.unknown.empty());
  CHECK(linear.columns.linear ==
        std::vector<std::string>{"age_bucketized", "age_bucketized_X_sex", "fare", "sex", "town"});
  CHECK(linear.columns.columns.at("fare") == "{type: numeric_column, key: fare}");
  CHECK(linear.columns.columns.at("age") == "{type: numeric_column, key: age}");
  CHECK(linear.columns.features.at("sex").dtype == "string");
  CHECK(linear.columns.features.at("age").dtype == "float32");
  CHECK(linear.columns.features.size() == 4);

  const Old dnn("dnn");
  CHECK(dnn.columns.dnn ==
        std::vector<std::string>{"age", "fare", "sex_indicator", "town_embedding"});
  CHECK(dnn.columns.columns.at("town") ==
        "{type: categorical_column_with_hash_bucket, key: town, hash_bucket_size: 8}");
}

TEST_CASE("models are found with head, layers and optimizers") {
  const Old combined("combined");
  const auto model = FindModel(combined.graph, combined.variables, combined.columns);
  REQUIRE(model);
  CHECK(model->type == "DNNLinearCombinedClassifier");
  CHECK(LinesOf(*model) ==
        std::vector<std::string>{"n_classes: 3", "linear_feature_columns: [sex]",
                                 "linear_optimizer: {type: Ftrl, learning_rate: 0.005}",
                                 "dnn_feature_columns: [age, age_bucketized]",
                                 "dnn_hidden_units: [4]",
                                 "dnn_optimizer: {type: Adagrad, learning_rate: 0.001}"});
  const Old regressor("regressor");
  const auto second = FindModel(regressor.graph, regressor.variables, regressor.columns);
  REQUIRE(second);
  CHECK(second->type == "DNNRegressor");
  CHECK(LinesOf(*second).back() == "optimizer: {type: SGD, learning_rate: 0.001}");
  CHECK_FALSE(second->labels_are_classes);
}

TEST_CASE("a graph that is not a premade estimator is not recognized as one") {
  const Old other("none_of_ours");
  CHECK_FALSE(FindModel(other.graph, other.variables, other.columns));
}

TEST_CASE("a graph's constants are found through Identity nodes") {
  const SeenGraph graph(Folder("regressor") + "/graph.pbtxt");
  const auto batches = graph.Below("", "BatchDatasetV2");
  REQUIRE(batches.size() == 1);
  const auto size = graph.ConstantAt(*batches[0], 1);
  REQUIRE(size);
  CHECK(size->AsDouble(0) == 16);
  CHECK_FALSE(graph.ConstantAt(*batches[0], 0));
  CHECK_FALSE(graph.ConstantAt(*batches[0], 99));
  CHECK(graph.Find("BatchDatasetV2:0") == batches[0]);
  CHECK(graph.Find("nothing") == nullptr);
}

}  // namespace
}  // namespace tpuest::cli
