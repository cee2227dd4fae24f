// DNN, combined and baseline estimators; the numbered cases are those of TensorFlow's own tests.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/models/premade.h"

namespace tpuest::models {
namespace {

nn::FeatureColumns Age(int64_t shape = 1) {
  return {{"age", nn::NumericColumn{.key = "age", .shape = shape}}};
}

Premade& SetHidden(Premade& model, const std::vector<float>& first) {
  return model.Set("dnn/hiddenlayer_0/kernel", first)
      .Set("dnn/hiddenlayer_0/bias", {0.1F, -0.1F})
      .Set("dnn/hiddenlayer_1/kernel", {1, 0.8F, -0.8F, -1})
      .Set("dnn/hiddenlayer_1/bias", {0.2F, -0.2F});
}

// TensorFlow's network of one logit.
Premade& SetOne(Premade& model) {
  return SetHidden(model, {0.6F, 0.5F})
      .Set("dnn/logits/kernel", {-1, 1})
      .Set("dnn/logits/bias", {0.3F});
}

// Its network of three logits, on one number or two.
Premade& SetThree(Premade& model, int64_t inputs) {
  return SetHidden(model, inputs == 1 ? std::vector<float>{0.6F, 0.5F}
                                      : std::vector<float>{0.6F, 0.5F, -0.6F, -0.5F})
      .Set("dnn/logits/kernel", {-1, 1, 0.5F, -1, 1, 0.5F})
      .Set("dnn/logits/bias", {0.3F, -0.3F, 0});
}

template <class Model>
Model NetworkModel() {
  return {.hidden_units = {2, 2}, .feature_columns = {"age"}};
}

TEST_CASE("case 13: a network of one logit regresses and classifies") {
  const Table ten = {{"age", Column({10})}};
  Premade regressed(NetworkModel<DnnRegressor>(), Age(), ten, {}, Mode::kPredict);
  CHECK(SetOne(regressed).Prediction("predictions")[0] == About(-2.08));
  Premade evaluated(NetworkModel<DnnRegressor>(), Age(), ten, Column({1}), Mode::kEval);
  CHECK(SetOne(evaluated).Loss() == About(9.4864));
  const auto metrics = evaluated.Metrics();
  CHECK(metrics.at("prediction/mean") == About(-2.08));
  CHECK(metrics.at("label/mean") == About(1));
  Premade classified(NetworkModel<DnnClassifier>(), Age(), ten, {}, Mode::kPredict);
  CHECK(SetOne(classified).Prediction("logits")[0] == About(-2.08));
  CHECK(classified.Prediction("logistic")[0] == About(0.11105597));
  CHECK(classified.Prediction("probabilities")[0] == About(0.88894403));
  CHECK(classified.Prediction("class_ids")[0] == 0);
}

TEST_CASE("case 15: a network of three logits on two numbers") {
  const Table numbers = {{"age", Tensor::Of<float>({1, 2}, {10, 8})}};
  DnnClassifier classes = NetworkModel<DnnClassifier>();
  classes.kind.n_classes = 3;
  Premade predicted(classes, Age(2), numbers, {}, Mode::kPredict);
  const std::vector<float> logits = SetThree(predicted, 2).Prediction("logits");
  const std::vector<float> probabilities = predicted.Prediction("probabilities");
  const double expected[] = {-0.48, 0.48, 0.39, 0.16670536, 0.43538380, 0.39791084};
  for (size_t i = 0; i < 3; ++i) {
    CHECK(logits[i] == About(expected[i]));
    CHECK(probabilities[i] == About(expected[3 + i]));
  }
  CHECK(predicted.Prediction("class_ids")[0] == 1);

  DnnRegressor vectors = NetworkModel<DnnRegressor>();
  vectors.kind.label_dimension = 3;
  const Tensor label = Tensor::Of<float>({1, 3}, {1, -1, 0.5F});
  Premade regressed(vectors, Age(2), numbers, label, Mode::kEval);
  CHECK(SetThree(regressed, 2).Loss() == About(1.4643));
  CHECK(regressed.Metrics().at("prediction/mean") == About(0.13));
  CHECK(regressed.Metrics().at("label/mean") == About(0.166667));
  vectors.kind.weight_column = "w";
  Premade heavy(vectors, Age(2), {{"age", numbers.at("age")}, {"w", Column({10})}}, label,
                Mode::kEval);
  CHECK(SetThree(heavy, 2).Loss() == About(14.643));
}

TEST_CASE("case 15: three classes, evaluated with weights and trained") {
  DnnClassifier classes = NetworkModel<DnnClassifier>();
  classes.kind.n_classes = 3;
  const Tensor two = Tensor::Of<float>({2, 2}, {10, 8, 10, 8});
  Premade plain(classes, Age(2), {{"age", two}}, Ids({1, 0}), Mode::kEval);
  CHECK(SetThree(plain, 2).Loss() == About(1.31152733));
  CHECK(plain.Metrics().at("accuracy") == About(0.5));
  classes.kind.weight_column = "w";
  Premade weighed(classes, Age(2), {{"age", two}, {"w", Column({10, 100})}}, Ids({1, 0}),
                  Mode::kEval);
  CHECK(SetThree(weighed, 2).Loss() == About(93.734));
  classes.kind.weight_column.reset();
  Premade trained(classes, Age(1), {{"age", Column({10})}}, Ids({1}), Mode::kTrain);
  CHECK(SetThree(trained, 1).Loss() == About(0.35505795));
}

TEST_CASE("case 17: linear and network are added, each with its own steps") {
  const nn::FeatureColumns columns = {{"x", nn::NumericColumn{.key = "x"}}};
  const DnnLinearCombinedRegressor model{
      .linear_feature_columns = {"x"}, .dnn_feature_columns = {"x"}, .dnn_hidden_units = {1}};
  Premade predicted(model, columns, {{"x", Column({10})}}, {}, Mode::kPredict);
  predicted.Set("linear/linear_model/x/weights", {1})
      .Set("linear/linear_model/bias_weights", {2})
      .Set("dnn/hiddenlayer_0/kernel", {3})
      .Set("dnn/hiddenlayer_0/bias", {4})
      .Set("dnn/logits/kernel", {5})
      .Set("dnn/logits/bias", {6});
  CHECK(predicted.Prediction("predictions")[0] == About(188));
  Premade trained(model, columns, {{"x", Column({10})}}, Column({1}), Mode::kTrain);
  trained.Train(1);
  CHECK(trained.Weights("global_step")[0] == 1);
  CHECK(trained.Weights("training/Ftrl/iter")[0] == 1);
  const std::vector<std::string> names = trained.Names();
  for (const char* name : {"training/Ftrl/linear/linear_model/x/weights/linear",
                           "training/Adagrad/dnn/hiddenlayer_0/kernel/accumulator"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

Premade Baseline(const AnyModel& model, const Table& features, const Tensor& labels,
                 const std::vector<float>& bias) {
  return {model, {}, features, labels, Mode::kEval, {{"baseline/bias", bias}}};
}

TEST_CASE("case 18: baselines predict their bias") {
  BaselineRegressor regressor;
  CHECK(Baseline(regressor, {{"age", Column({1})}}, Column({10}), {13}).Loss() == About(9));
  regressor.kind.weight_column = "w";
  Premade weighed =
      Baseline(regressor, {{"age", Column({1, 1})}, {"w", Column({1, 2})}}, Column({10, 10}), {13});
  CHECK(weighed.Loss() == About(13.5));
  CHECK(weighed.Metrics().at("average_loss") == About(9));

  Premade one = Baseline(BaselineClassifier{}, {{"age", Column({1})}}, Ids({1}), {-1});
  CHECK(one.Loss() == About(1.3133));
  auto metrics = one.Metrics();
  CHECK(metrics.at("prediction/mean") == About(0.2689));
  CHECK(metrics.at("auc") == About(0));
  CHECK(metrics.at("auc_precision_recall") == About(1));
  Premade two = Baseline(BaselineClassifier{}, {{"age", Column({1, 1})}}, Ids({1, 0}), {-1});
  CHECK(two.Loss() == About(0.81325));
  metrics = two.Metrics();
  for (const char* key : {"accuracy", "auc", "auc_precision_recall"}) {
    CHECK(metrics.at(key) == About(0.5));
  }
  BaselineClassifier heavy;
  heavy.kind.weight_column = "w";
  Premade third =
      Baseline(heavy, {{"age", Column({1, 1})}, {"w", Column({1, 2})}}, Ids({1, 0}), {-1});
  CHECK(third.Loss() == About(0.96985));
  metrics = third.Metrics();
  CHECK(metrics.at("average_loss") == About(0.646567));
  CHECK(metrics.at("accuracy") == About(0.66667));
  CHECK(metrics.at("auc_precision_recall") == About(0.33333));
  BaselineClassifier four;
  four.kind.n_classes = 4;
  Premade fourth = Baseline(four, {{"age", Column({1, 1})}}, Ids({1, 0}), {-1, -1, -1, -1});
  CHECK(fourth.Loss() == About(1.3862944));
  CHECK(fourth.Metrics().at("accuracy") == About(0.5));
}

TEST_CASE("a network's columns are sorted by name, whatever the job's order") {
  const nn::FeatureColumns columns = {{"b", nn::NumericColumn{.key = "b"}},
                                      {"a", nn::NumericColumn{.key = "a"}}};
  for (const std::vector<std::string>& order : {std::vector<std::string>{"a", "b"}, {"b", "a"}}) {
    const DnnRegressor model{.hidden_units = {1}, .feature_columns = order};
    Premade built(model, columns, {{"a", Column({1})}, {"b", Column({10})}}, {}, Mode::kPredict);
    built.Set("dnn/hiddenlayer_0/kernel", {2, 3}).Set("dnn/logits/kernel", {1});
    CHECK(built.Prediction("predictions")[0] == About(32));
  }
}

TEST_CASE("the variables of a network have TensorFlow's names") {
  const nn::FeatureColumns columns = {
      {"a", nn::HashBucketColumn{.key = "a", .hash_bucket_size = 10}},
      {"b", nn::HashBucketColumn{.key = "b", .hash_bucket_size = 10}},
      {"rows", nn::EmbeddingColumn{.categorical_column = "a", .embedding = {.dimension = 2}}},
      {"both", nn::SharedEmbeddingColumns{.categorical_columns = {"b", "a"},
                                          .embedding = {.dimension = 3}}}};
  const DnnClassifier model{.hidden_units = {4},
                            .feature_columns = {"rows", "both"},
                            .optimizer = nn::Adam{},
                            .dropout = 0.5,
                            .batch_norm = true};
  Premade built(model, columns, {{"a", Words({"p"})}, {"b", Words({"q"})}}, Ids({1}), Mode::kTrain);
  const std::vector<std::string> names = built.Names();
  for (const char* name :
       {"a_b_shared_embedding", "dnn/hiddenlayer_0/batchnorm_0/moving_variance",
        "dnn/input_from_feature_columns/input_layer/a_embedding/embedding_weights",
        "dnn/hiddenlayer_0/kernel", "dnn/logits/bias", "training/Adam/beta_1",
        "training/Adam/dnn/hiddenlayer_0/batchnorm_0/beta/m",
        "training/Adam/a_b_shared_embedding/v"}) {
    CHECK_MESSAGE(std::find(names.begin(), names.end(), name) != names.end(), name);
  }
}

TEST_CASE("a table that columns share is trained with the network, also beside a linear model") {
  const nn::FeatureColumns columns = {
      {"x", nn::NumericColumn{.key = "x"}},
      {"a", nn::HashBucketColumn{.key = "a", .hash_bucket_size = 10}},
      {"b", nn::HashBucketColumn{.key = "b", .hash_bucket_size = 10}},
      {"both", nn::SharedEmbeddingColumns{.categorical_columns = {"b", "a"},
                                          .embedding = {.dimension = 3}}}};
  const DnnLinearCombinedRegressor model{
      .linear_feature_columns = {"x"}, .dnn_feature_columns = {"both"}, .dnn_hidden_units = {4}};
  Premade built(model, columns, {{"x", Column({1})}, {"a", Words({"p"})}, {"b", Words({"q"})}},
                Column({5}), Mode::kTrain);
  const std::vector<std::string> names = built.Names();
  CHECK(std::find(names.begin(), names.end(),
                  "training/Adagrad/a_b_shared_embedding/accumulator") != names.end());
  const std::vector<float> before = built.Weights("a_b_shared_embedding");
  built.Train(1);
  CHECK(built.Weights("a_b_shared_embedding") != before);
}

}  // namespace
}  // namespace tpuest::models
