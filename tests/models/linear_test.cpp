// LinearClassifier and LinearRegressor; the numbered cases are those of TensorFlow's own tests.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/models/premade.h"

namespace tpuest::models {
namespace {

const std::string kBias = "linear/linear_model/bias_weights";

std::string Weights(const std::string& column) {
  return "linear/linear_model/" + column + "/weights";
}

nn::FeatureColumns AgeColumn(int64_t shape = 1) {
  return {{"age", nn::NumericColumn{.key = "age", .shape = shape}}};
}

LinearRegressor Regressing(const std::string& reduction = "SUM_OVER_BATCH_SIZE",
                           std::optional<std::string> weight_column = std::nullopt) {
  LinearRegressor model{.feature_columns = {"age"}};
  model.kind.loss_reduction = reduction;
  model.kind.weight_column = std::move(weight_column);
  return model;
}

Premade Evaluated(const LinearRegressor& model, const Table& features, const Tensor& labels) {
  return {model,  AgeColumn(), features,
          labels, Mode::kEval, {{Weights("age"), {11}}, {kBias, {2}}}};
}

TEST_CASE("case 1: a LinearRegressor is evaluated, on one row and on two") {
  Premade one = Evaluated(Regressing(), {{"age", Column({1})}}, Column({10}));
  CHECK(one.Loss() == About(9));
  const auto metrics = one.Metrics();
  CHECK(metrics.at("average_loss") == About(9));
  CHECK(metrics.at("prediction/mean") == About(13));
  CHECK(metrics.at("label/mean") == About(10));
  CHECK(Evaluated(Regressing(), {{"age", Column({1, 1})}}, Column({10, 10})).Loss() == About(9));
  CHECK(Evaluated(Regressing("SUM"), {{"age", Column({1, 1})}}, Column({10, 10})).Loss() ==
        About(18));
}

TEST_CASE("case 2: a weight column weighs the rows") {
  const Table rows = {{"age", Column({1, 1})}, {"weights", Column({1, 2})}};
  const std::string mean = "SUM_OVER_BATCH_SIZE";
  Premade weighted = Evaluated(Regressing(mean, "weights"), rows, Column({10, 10}));
  CHECK(weighted.Loss() == About(13.5));
  CHECK(weighted.Metrics().at("average_loss") == About(9));
  CHECK(Evaluated(Regressing("SUM", "weights"), rows, Column({10, 10})).Loss() == About(27));
}

TEST_CASE("case 4: predictions of one column, of vectors and of two columns") {
  LinearRegressor one{.feature_columns = {"age"}};
  Premade single(one, AgeColumn(), {{"age", Column({2})}}, {}, Mode::kPredict);
  single.Set(Weights("age"), {10}).Set(kBias, {0.2F});
  CHECK(single.Prediction("predictions")[0] == About(20.2));

  LinearRegressor three{.feature_columns = {"age"}};
  three.kind.label_dimension = 3;
  Premade vectors(three, AgeColumn(4),
                  {{"age", Tensor::Of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}}, {},
                  Mode::kPredict);
  vectors.Set(Weights("age"), {1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6}).Set(kBias, {0.2F, 0.4F, 0.6F});
  const std::vector<float> expected = {30.2F, 40.4F, 50.6F, 70.2F, 96.4F, 122.6F};
  const std::vector<float> predictions = vectors.Prediction("predictions");
  for (size_t i = 0; i < expected.size(); ++i) CHECK(predictions[i] == About(expected[i]));

  LinearRegressor two{.feature_columns = {"x1", "x0"}};
  const nn::FeatureColumns columns = {{"x0", nn::NumericColumn{.key = "x0"}},
                                      {"x1", nn::NumericColumn{.key = "x1"}}};
  Premade sum(two, columns, {{"x0", Column({2})}, {"x1", Column({3})}}, {}, Mode::kPredict);
  sum.Set(Weights("x0"), {10}).Set(Weights("x1"), {20}).Set(kBias, {0.2F});
  CHECK(sum.Prediction("predictions")[0] == About(80.2));
}

TEST_CASE("case 6: training at rate 0 has the loss and leaves the weights") {
  LinearRegressor model = Regressing();
  model.optimizer = nn::SGD{.options = {.learning_rate = 0.0}};
  Premade one(model, AgeColumn(), {{"age", Column({17})}}, Column({5}), Mode::kTrain);
  one.Set(Weights("age"), {10}).Set(kBias, {5});
  CHECK(one.Loss() == About(28900));
  one.Train(10);
  CHECK(one.Weights(Weights("age"))[0] == 10);
  CHECK(one.Weights("global_step")[0] == 10);
  Premade two(model, AgeColumn(), {{"age", Column({17, 15})}}, Column({5, 3}), Mode::kTrain);
  two.Set(Weights("age"), {10}).Set(kBias, {5});
  CHECK(two.Loss() == About(26002));
  Premade fresh(model, AgeColumn(), {{"age", Column({17})}}, Column({5}), Mode::kTrain);
  CHECK(fresh.Loss() == About(25));
}

TEST_CASE("case 7: a LinearClassifier of two classes is evaluated") {
  Premade model(LinearClassifier{.feature_columns = {"age"}}, AgeColumn(), {{"age", Column({1})}},
                Ids({1}), Mode::kEval);
  model.Set(Weights("age"), {-11}).Set(kBias, {-30});
  CHECK(model.Loss() == About(41));
  const auto metrics = model.Metrics();
  for (const char* zero : {"accuracy", "precision", "recall", "prediction/mean", "auc"}) {
    CHECK(metrics.at(zero) == About(0));
  }
  for (const char* one : {"label/mean", "accuracy_baseline", "auc_precision_recall"}) {
    CHECK(metrics.at(one) == About(1));
  }
  CHECK(metrics.at("average_loss") == About(41));
}

Premade OfFourClasses(const Table& features, const Tensor& labels, Mode mode,
                      std::optional<std::string> weight_column = std::nullopt) {
  LinearClassifier model{.feature_columns = {"age"}};
  model.kind.n_classes = 4;
  model.kind.weight_column = std::move(weight_column);
  return {model, AgeColumn(), features, labels, mode};
}

TEST_CASE("case 10: four classes, with weights, and from scratch") {
  const std::vector<float> weights = {0, 2, 4, 6};
  const std::vector<float> bias(4, -35);
  Premade model = OfFourClasses({{"age", Column({17, 18})}}, Ids({1, 0}), Mode::kEval);
  model.Set(Weights("age"), weights).Set(kBias, bias);
  CHECK(model.Loss() == About(88));
  CHECK(model.Metrics().at("accuracy") == About(0));
  Premade weighed = OfFourClasses({{"age", Column({17, 18})}, {"w", Column({1, 2})}}, Ids({1, 0}),
                                  Mode::kEval, "w");
  weighed.Set(Weights("age"), weights).Set(kBias, bias);
  CHECK(weighed.Loss() == About(142));
  CHECK(weighed.Metrics().at("average_loss") == About(94.6667));
  Premade single = OfFourClasses({{"age", Column({17})}}, Ids({1}), Mode::kTrain);
  single.Set(Weights("age"), weights).Set(kBias, bias);
  CHECK(single.Loss() == About(68));
  Premade fresh = OfFourClasses({{"age", Column({17})}}, Ids({1}), Mode::kTrain);
  CHECK(fresh.Loss() == About(1.3862944));
  Premade binary(LinearClassifier{.feature_columns = {"age"}}, AgeColumn(), {{"age", Column({17})}},
                 Ids({1}), Mode::kTrain);
  CHECK(binary.Loss() == About(0.6931472));
}

TEST_CASE("case 11: predictions of two and of four classes") {
  LinearClassifier two{.feature_columns = {"age"}};
  const auto predict = [&]() -> Premade {
    return {two, AgeColumn(),    {{"age", Column({1})}},
            {},  Mode::kPredict, {{Weights("age"), {-11}}, {kBias, {10}}}};
  };
  Premade model = predict();
  CHECK(model.Prediction("logits")[0] == About(-1));
  CHECK(model.Prediction("logistic")[0] == About(0.26894));
  CHECK(model.Prediction("probabilities")[0] == About(0.73106));
  CHECK(model.Prediction("class_ids")[0] == 0);
  CHECK(model.Strings("classes") == std::vector<std::string>{"0"});
  CHECK(model.Prediction("all_class_ids") == std::vector<float>{0, 1});
  CHECK(model.Strings("all_classes") == std::vector<std::string>{"0", "1"});
  two.kind.label_vocabulary = {"class_vocab_0", "class_vocab_1"};
  Premade named = predict();
  CHECK(named.Strings("classes") == std::vector<std::string>{"class_vocab_0"});

  Premade four = OfFourClasses({{"age", Column({1})}}, {}, Mode::kPredict);
  four.Set(Weights("age"), {0, -11, -22, -33}).Set(kBias, {10, 10, 10, 10});
  CHECK(four.Prediction("logits") == std::vector<float>{10, -1, -12, -23});
  CHECK(four.Prediction("class_ids")[0] == 0);
}

TEST_CASE("case 52: the share of weights that are zero") {
  const nn::FeatureColumns columns = {
      {"age", nn::NumericColumn{.key = "age", .shape = int64_t{3}}},
      {"town",
       nn::VocabularyListColumn{.key = "town", .vocabulary_list = {"a", "b", "c", "d", "e"}}}};
  LinearRegressor model{.feature_columns = {"age", "town"}};
  model.kind.label_dimension = 3;
  Premade fresh(model, columns,
                {{"age", Tensor::Of<float>({1, 3}, {1, 2, 3})}, {"town", Words({"a"})}},
                Tensor::Of<float>({1, 3}, {1, 2, 3}), Mode::kTrain);
  CHECK(fresh.Summary("fraction_of_zero_weights") == 1);
}

TEST_CASE("the variables of a linear model have TensorFlow's names") {
  const nn::FeatureColumns columns = {
      {"x", nn::NumericColumn{.key = "x"}},
      {"steps", nn::BucketizedColumn{.source_column = "x", .boundaries = {0, 1}}},
      {"town", nn::HashBucketColumn{.key = "the town", .hash_bucket_size = 10}},
      {"heavy",
       nn::WeightedCategoricalColumn{.categorical_column = "town", .weight_feature_key = "w"}},
      {"both", nn::CrossedColumn{.keys = {"steps", "the town"}, .hash_bucket_size = 50}},
      {"rows", nn::EmbeddingColumn{.categorical_column = "town", .embedding = {.dimension = 2}}}};
  LinearRegressor model{.feature_columns = {"x", "steps", "heavy", "both", "rows"}};
  Premade built(model, columns,
                {{"x", Column({1})}, {"the town", Words({"a"})}, {"w", Column({2})}}, Column({1}),
                Mode::kEval);
  const std::vector<std::string> expected = {
      "global_step",
      "linear/linear_model/the_town_X_x_bucketized/weights",
      "linear/linear_model/the_town_embedding/embedding_weights",
      "linear/linear_model/the_town_embedding/weights",
      "linear/linear_model/the_town_weighted_by_w/weights",
      "linear/linear_model/x/weights",
      "linear/linear_model/x_bucketized/weights",
      kBias};
  std::vector<std::string> names = built.Names();
  std::sort(names.begin(), names.end());
  std::vector<std::string> sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  CHECK(names == sorted);
}

}  // namespace
}  // namespace tpuest::models
