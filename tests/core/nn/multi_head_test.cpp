// Several heads on one model. The numbers are those of tf.estimator.MultiHead in TensorFlow 2.15.

#include "core/nn/heads/multi_head.h"

#include <doctest/doctest.h>

#include "tests/core/nn/evaluate_head.h"

namespace tpuest::nn {
namespace {

using Texts = std::vector<std::string>;
using Named = std::map<std::string, Value>;

std::vector<std::string> HeadKeysOf(const auto& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Heads for two classes, for three words, and for two numbers.
MultiHead Three() {
  return {.heads = {BinaryClassHead{.weight_column = "w", .name = "clicks"},
                    MultiClassHead{
                        .n_classes = 3, .label_vocabulary = {"cat", "dog", "fox"}, .name = "kind"},
                    RegressionHead{.label_dimension = 2, .name = "price"}}};
}

HeadInputs Batch(Session& session) {
  Graph& graph = session.graph();
  return {.logits = session.Const({3, 6}, {1, 0.5F, -1, 2, 0.3F, -0.2F,  //
                                           -2, 1, 1, -1, 0.7F, 0.1F,     //
                                           0.25F, -0.5F, 0.75F, 0, -1, 2}),
          .features = {{"w", session.Const({3}, {1, 2, 0.5F})}},
          .labels = Labels<Value>(
              Named{{"clicks", session.Ints({3}, {1, 0, 0})},
                    {"kind", graph.Constant(Tensor::Strings({3, 1}, {"dog", "cat", "fox"}))},
                    {"price", session.Const({3, 2}, {0.5F, 0, 1, -1, 0, 1.5F})}})};
}

TEST_CASE("the loss is the weighted sum of the heads' and each metric has its head's name") {
  Session session;
  MultiHead head = Three();
  head.head_weights = {1, 0.5, 2};
  HeadInputs inputs = Batch(session);
  inputs.regularization_losses = {session.Const({}, {0.25F}), session.Const({}, {0.5F})};
  const Evaluated result = Evaluate(session, head, inputs);
  CHECK(result.loss == doctest::Approx(2.8391304));
  const std::map<std::string, double> expected = {{"accuracy/clicks", 0.8571428657},
                                                  {"accuracy/kind", 0.3333333432},
                                                  {"accuracy_baseline/clicks", 0.7142857313},
                                                  {"auc/clicks", 1},
                                                  {"auc_precision_recall/clicks", 1},
                                                  {"average_loss/clicks", 0.2800249755},
                                                  {"average_loss/kind", 1.7715357542},
                                                  {"average_loss/price", 0.4383333623},
                                                  {"label/mean/clicks", 0.2857142984},
                                                  {"label/mean/price", 0.3333333432},
                                                  {"loss/clicks", 0.3266957998},
                                                  {"loss/kind", 1.7715357542},
                                                  {"loss/price", 0.4383333623},
                                                  {"precision/clicks", 0.6666666865},
                                                  {"prediction/mean/clicks", 0.3573007583},
                                                  {"prediction/mean/price", 0.3166666924},
                                                  {"recall/clicks", 1},
                                                  {"regularization_loss/clicks_kind_price", 0.75}};
  CHECK(HeadKeysOf(result.metrics) == HeadKeysOf(expected));
  for (const auto& metric : expected) {
    CAPTURE(metric.first);
    CHECK(result.metrics.at(metric.first) == doctest::Approx(metric.second));
  }
}

TEST_CASE("several heads have predictions and signatures") {
  Session session;
  HeadInputs inputs = Batch(session);
  inputs.labels = {};
  const HeadOutputs outputs = BuildHead(Three(), inputs);
  CHECK(HeadKeysOf(outputs.export_outputs) ==
        Texts{"clicks", "clicks/classification", "clicks/predict", "clicks/regression", "kind",
              "kind/classification", "kind/predict", "predict", "price", "price/predict",
              "price/regression", "serving_default"});
  CHECK(outputs.export_outputs.at("serving_default").outputs ==
        outputs.export_outputs.at("clicks").outputs);
  CHECK(outputs.export_outputs.at("price").kind == ExportKind::kRegression);
  CHECK(outputs.export_outputs.at("predict").outputs == outputs.predictions);
  CHECK(HeadKeysOf(outputs.predictions) ==
        Texts{"clicks/all_class_ids", "clicks/all_classes", "clicks/class_ids", "clicks/classes",
              "clicks/logistic", "clicks/logits", "clicks/probabilities", "kind/all_class_ids",
              "kind/all_classes", "kind/class_ids", "kind/classes", "kind/logits",
              "kind/probabilities", "price/predictions"});
  session.Initialize();
  const Tensor kinds = session.Get(outputs.predictions.at("kind/classes"));
  CHECK(Texts(kinds.strings().begin(), kinds.strings().end()) == Texts{"fox", "cat", "dog"});
  CHECK_FALSE(outputs.loss.valid());
}

TEST_CASE("padding counts in no head's loss") {
  Session short_one;
  const HeadInputs all = Batch(short_one);
  const Evaluated expected = Evaluate(short_one, Three(), all);
  Session padded;
  Graph& graph = padded.graph();
  const HeadInputs inputs{
      .logits = padded.Const({4, 6}, {1,     0.5F,  -1,    2,  0.3F, -0.2F,  //
                                      -2,    1,     1,     -1, 0.7F, 0.1F,   //
                                      0.25F, -0.5F, 0.75F, 0,  -1,   2,      //
                                      1,     0.5F,  -1,    2,  0.3F, -0.2F}),
      .features = {{"w", padded.Const({4}, {1, 2, 0.5F, 1})}},
      .labels = Labels<Value>(
          Named{{"clicks", padded.Ints({4}, {1, 0, 0, 1})},
                {"kind", graph.Constant(Tensor::Strings({4, 1}, {"dog", "cat", "fox", "dog"}))},
                {"price", padded.Const({4, 2}, {0.5F, 0, 1, -1, 0, 1.5F, 0.5F, 0})}}),
      .example_weight = padded.Const({4}, {1, 1, 1, 0})};
  const Evaluated result = Evaluate(padded, Three(), inputs);
  CHECK(result.loss == doctest::Approx(expected.loss));
  for (const auto& metric : expected.metrics) {
    CAPTURE(metric.first);
    CHECK(result.metrics.at(metric.first) == doctest::Approx(metric.second));
  }
}

TEST_CASE("heads that cannot be combined, and labels and logits that do not fit, are refused") {
  Session session;
  const HeadInputs inputs = Batch(session);
  CHECK(MessageOf(session, MultiHead{}, inputs) == "Must specify heads. Given: []");
  CHECK(MessageOf(session, MultiHead{.heads = {BinaryClassHead{}}}, inputs) ==
        "All given heads must have name specified. Given: BinaryClassHead");
  MultiHead one_weight = Three();
  one_weight.head_weights = {1};
  CHECK(MessageOf(session, one_weight, inputs) ==
        "heads and head_weights must have the same size. Given len(heads): 3. Given "
        "len(head_weights): 1.");
  CHECK(MessageOf(session,
                  MultiHead{.heads = {BinaryClassHead{.name = "a"},
                                      BinaryClassHead{.loss_reduction = "SUM", .name = "b"}}},
                  inputs) ==
        "The loss_reduction must be the same for different heads. Given: "
        "['SUM_OVER_BATCH_SIZE', 'SUM']");
  CHECK(MessageOf(session,
                  MultiHead{.heads = {BinaryClassHead{.name = "a"}, BinaryClassHead{.name = "a"}}},
                  inputs) == "two heads are called 'a'");
  HeadInputs bad = inputs;
  bad.logits = session.Const({3, 5}, std::vector<float>(15));
  CHECK(MessageOf(session, Three(), bad) ==
        "Could not split logits of shape [3,5] among the heads with individual logits dimensions: "
        "[1, 3, 2]. The last dimension of the logits tensor should equal 5 but is 6.");
  bad = inputs;
  bad.labels = *inputs.labels.Find("clicks");
  CHECK(MessageOf(session, Three(), bad).starts_with("labels must be a dict. Given: "));
  bad.labels = Labels<Value>(Named{{"clicks", *inputs.labels.Find("clicks")}});
  CHECK(MessageOf(session, Three(), bad) ==
        "labels has missing values for head(s): ['kind', 'price']");
  bad = inputs;
  bad.features.clear();
  CHECK(
      MessageOf(session, Three(), bad).starts_with("weight_column 'w' is not among the features"));
}

TEST_CASE("a single head takes no dict of labels") {
  Session session;
  const HeadInputs inputs{.logits = session.Const({1, 1}, {0}),
                          .labels = Labels<Value>(Named{{"a", session.Ints({1}, {1})}})};
  CHECK(MessageOf(session, BinaryClassHead{}, inputs) ==
        "labels must be one tensor. Given: a dict of a");
}

TEST_CASE("several heads have label ranges and weight columns") {
  const Labels<LabelRange> ranges = LabelRangesOf(Three());
  CHECK(ranges.names() == Texts{"clicks", "kind"});
  CHECK(ranges.Find("kind")->vocabulary.size() == 3);
  CHECK(WeightColumnsOf(Three()) == std::set<std::string>{"w"});
  CHECK(WeightColumnsOf(BinaryClassHead{}).empty());
  CHECK(Three().logits_dimension() == 6);
}

}  // namespace
}  // namespace tpuest::nn
