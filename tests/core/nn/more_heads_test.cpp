// Multi-label, Poisson and logistic heads, and heads with a name.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/core/nn/evaluate_head.h"
#include "tests/core/nn/near.h"

namespace tpuest::nn {
namespace {

using Texts = std::vector<std::string>;

Texts MoreTextsOf(const Tensor& tensor) {
  return {tensor.strings().begin(), tensor.strings().end()};
}

std::vector<std::string> KeysOf(const auto& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Logits of two examples of two classes.
HeadInputs Pair(Session& session) {
  return {.logits = session.Const({2, 2}, {-1, 1, -1.5F, 1.5F}),
          .labels = session.Ints({2, 2}, {1, 0, 1, 1})};
}

TEST_CASE("a multi-label head evaluates as tf.estimator's does") {
  Session session;
  const Evaluated result = Evaluate(session, MultiLabelHead{.n_classes = 2}, Pair(session));
  CHECK(result.loss == doctest::Approx((1.31326169 + 0.9514133) / 2));
  CHECK(KeysOf(result.metrics) == Texts{"auc", "auc_precision_recall", "average_loss"});
  CHECK(result.metrics.at("average_loss") == doctest::Approx(result.loss));
  CHECK(result.metrics.at("auc") == doctest::Approx(1.0 / 3));
  CHECK(result.metrics.at("auc_precision_recall") == doctest::Approx(0.7689).epsilon(1e-3));
}

TEST_CASE(
    "a head with label_scaling learns scaled labels, and reports all else in the labels' unit") {
  Session session;
  const HeadInputs inputs = {.logits = session.Const({2, 1}, {0.5F, -1}),
                             .labels = session.Const({2, 1}, {120, 100})};
  const Evaluated result = Evaluate(
      session, RegressionHead{.label_scaling = LabelScaling{.mean = 100, .std = 20}}, inputs);
  // Scaled labels are 1 and 0; predictions are 110 and 80.
  CHECK(result.loss == doctest::Approx((0.25 + 1) / 2));
  CHECK(result.metrics.at("average_loss") == doctest::Approx((100 + 400) / 2.0));
  CHECK(result.metrics.at("prediction/mean") == doctest::Approx(95));
  CHECK(result.metrics.at("label/mean") == doctest::Approx(110));
}

TEST_CASE("label_scaling needs a positive std, and no inverse_link_fn") {
  CHECK_THROWS_AS(RegressionHead{.label_scaling = LabelScaling{.std = 0}}.CheckOptions(), Error);
  RegressionHead linked{.inverse_link_fn = "exp"};
  linked.label_scaling = LabelScaling{};
  CHECK_THROWS_AS(linked.CheckOptions(), Error);
}

TEST_CASE("a weight counts for all classes of its example") {
  Session session;
  HeadInputs inputs = Pair(session);
  inputs.features = {{"w", session.Const({2}, {1, 3})}};
  const Evaluated result = Evaluate(
      session, MultiLabelHead{.n_classes = 2, .weight_column = "w", .thresholds = {0.5}}, inputs);
  CHECK(result.loss == doctest::Approx((1.31326169 + 3 * 0.9514133) / 2));
  CHECK(result.metrics.at("average_loss") == doctest::Approx((1.31326169 + 3 * 0.9514133) / 4));
  CHECK(result.metrics.at("accuracy/positive_threshold_0.5") == doctest::Approx(3.0 / 8));
  CHECK(result.metrics.at("precision/positive_threshold_0.5") == doctest::Approx(3.0 / 4));
  CHECK(result.metrics.at("recall/positive_threshold_0.5") == doctest::Approx(3.0 / 7));
}

TEST_CASE("classes have their own metrics, by number or by word") {
  Session numbers;
  const Evaluated by_number = Evaluate(
      numbers, MultiLabelHead{.n_classes = 2, .classes_for_class_based_metrics = {int64_t{1}}},
      Pair(numbers));
  CHECK(by_number.metrics.at("probability_mean/class1") ==
        doctest::Approx((0.7310586 + 0.8175745) / 2));
  CHECK(by_number.metrics.at("auc/class1") == doctest::Approx(1));
  CHECK(by_number.metrics.at("auc_precision_recall/class1") == doctest::Approx(1));
  Session words;
  const Evaluated by_word =
      Evaluate(words,
               MultiLabelHead{.n_classes = 2,
                              .label_vocabulary = {"cat", "dog"},
                              .classes_for_class_based_metrics = {std::string("dog"), int64_t{0}}},
               Pair(words));
  CHECK(by_word.metrics.at("probability_mean/dog") ==
        by_number.metrics.at("probability_mean/class1"));
  CHECK(by_word.metrics.contains("auc/cat"));
  CHECK(by_word.metrics.contains("auc_precision_recall/cat"));
}

TEST_CASE("multi-label predictions have tf.estimator's keys, values and signatures") {
  Session session;
  const Value logits = session.Const({2, 2}, {-1, 1, 0, 2});
  const HeadOutputs outputs = BuildHead(MultiLabelHead{.n_classes = 2}, {.logits = logits});
  CHECK(KeysOf(outputs.predictions) == Texts{"classes", "logits", "probabilities"});
  CHECK(Near(session.Floats(outputs.predictions.at("probabilities")),
             {0.26894143, 0.7310586, 0.5, 0.8807971}));
  CHECK(MoreTextsOf(session.Get(outputs.predictions.at("classes"))) == Texts{"0", "1", "0", "1"});
  CHECK(KeysOf(outputs.export_outputs) == Texts{"classification", "predict", "serving_default"});
  CHECK(outputs.export_outputs.at("serving_default").kind == ExportKind::kClassification);
  const HeadOutputs named = BuildHead(
      MultiLabelHead{.n_classes = 2, .label_vocabulary = {"cat", "dog"}}, {.logits = logits});
  CHECK(MoreTextsOf(session.Get(named.predictions.at("classes"))) ==
        Texts{"cat", "dog", "cat", "dog"});
}

TEST_CASE("several classes may be named by their words") {
  Session session;
  const MultiLabelHead head{.n_classes = 2, .label_vocabulary = {"cat", "dog"}};
  HeadInputs inputs = Pair(session);
  const Tensor words = Tensor::Strings({2, 3}, {"cat", "", "", "dog", "cat", "dog"});
  inputs.labels = session.graph().Constant(words);
  const Evaluated result = Evaluate(session, head, inputs);
  CHECK(result.loss == doctest::Approx((1.31326169 + 0.9514133) / 2));
  CHECK(result.metrics.at("auc") == doctest::Approx(1.0 / 3));
  const LabelRange range = LabelRangesOf(head).only();
  CHECK_FALSE(FindLabelFault(words, 2, range).has_value());
  const auto unknown = FindLabelFault(Tensor::Strings({2, 1}, {"cat", "fox"}), 2, range);
  REQUIRE(unknown.has_value());
  CHECK(unknown->row == 1);
  CHECK(FindLabelFault(Tensor::Of<int32_t>({1, 2}, {0, 2}), 1, range).has_value());
}

TEST_CASE("padding has no part in multi-label loss and metrics") {
  Session session;
  const Evaluated result = Evaluate(session, MultiLabelHead{.n_classes = 2, .thresholds = {0.5}},
                                    {.logits = session.Const({3, 2}, {-1, 1, -1.5F, 1.5F, 9, 9}),
                                     .labels = session.Ints({3, 2}, {1, 0, 1, 1, 0, 0}),
                                     .example_weight = session.Const({3}, {1, 1, 0})});
  CHECK(result.loss == doctest::Approx((1.31326169 + 0.9514133) / 2));
  CHECK(result.metrics.at("auc") == doctest::Approx(1.0 / 3));
  CHECK(result.metrics.at("accuracy/positive_threshold_0.5") == doctest::Approx(0.25));
}

TEST_CASE("invalid inputs of a multi-label head are refused in TensorFlow's words") {
  Session session;
  const HeadInputs inputs = Pair(session);
  CHECK(MessageOf(session, MultiLabelHead{.n_classes = 1}, inputs) ==
        "n_classes must be > 1 for multi-label classification. Given: 1");
  CHECK(MessageOf(session, MultiLabelHead{.n_classes = 2, .thresholds = {1}}, inputs) ==
        "thresholds must be in (0, 1) range. Given: 1");
  CHECK(MessageOf(session, MultiLabelHead{.n_classes = 2, .label_vocabulary = {"cat"}}, inputs) ==
        "Length of label_vocabulary must be n_classes (2). Given: 1");
  CHECK(MessageOf(session,
                  MultiLabelHead{.n_classes = 2, .classes_for_class_based_metrics = {int64_t{2}}},
                  inputs) ==
        "All classes_for_class_based_metrics must be in range [0, 1]. Given: 2");
  CHECK(MessageOf(
            session,
            MultiLabelHead{.n_classes = 2, .classes_for_class_based_metrics = {std::string("dog")}},
            inputs) ==
        "label_vocabulary must be provided when classes_for_class_based_metrics are strings.");
  CHECK(MessageOf(session,
                  MultiLabelHead{.n_classes = 2,
                                 .label_vocabulary = {"cat", "dog"},
                                 .classes_for_class_based_metrics = {std::string("dgo")}},
                  inputs) ==
        "class 'dgo' of classes_for_class_based_metrics is not in label_vocabulary");
  CHECK(MessageOf(session, MultiLabelHead{.n_classes = 2},
                  {.logits = inputs.logits, .labels = session.Ints({2, 3}, {0, 0, 0, 0, 0, 0})}) ==
        "Mismatched label shape. Expected labels dimension=2.  Received 3.");
  const Value words = session.graph().Constant(Tensor::Strings({2, 2}, {"a", "b", "a", "b"}));
  CHECK(MessageOf(session, MultiLabelHead{.n_classes = 2},
                  {.logits = inputs.logits, .labels = words}) ==
        "labels are strings, but MultiLabelHead has no label_vocabulary");
  const auto fault = FindLabelFault(Tensor::Of<int32_t>({2, 2}, {0, 1, 2, 0}), 2,
                                    LabelRangesOf(MultiLabelHead{.n_classes = 2}).only());
  REQUIRE(fault.has_value());
  CHECK(fault->row == 1);
  CHECK(fault->message ==
        "label is 2: labels must be an integer indicator Tensor with values in [0, 1]");
}

TEST_CASE("an inverse link turns logits into predictions, and the loss reads the logits") {
  Session session;
  const HeadInputs inputs{.logits = session.Const({2, 1}, {0, 1}),
                          .labels = session.Const({2}, {1, 3})};
  const RegressionHead head{.inverse_link_fn = "exp"};
  const Evaluated result = Evaluate(session, head, inputs);
  CHECK(result.loss == doctest::Approx((1.0 + 4.0) / 2));
  CHECK(result.metrics.at("prediction/mean") == doctest::Approx((1 + 2.7182818) / 2));
  CHECK(result.metrics.at("label/mean") == 2);
  const HeadOutputs outputs = BuildHead(head, {.logits = inputs.logits});
  CHECK(KeysOf(outputs.predictions) == Texts{"logits", "predictions"});
  CHECK(Near(session.Floats(outputs.predictions.at("predictions")), {1, 2.7182818}));
  CHECK(Near(session.Floats(outputs.export_outputs.at("regression").outputs.at("outputs")),
             {1, 2.7182818}));
}

TEST_CASE("Poisson's loss may leave out what has no gradient, and its gradient is exp(x) - z") {
  Session session;
  const Value logits = session.Const({3, 1}, {0, -1, 1});
  const Value labels = session.Const({3, 1}, {0, 2, 3});
  CHECK(Near(session.Floats(LogPoissonLoss(logits, labels, false)),
             {1, 0.36787944 + 2, 2.7182818 - 3}));
  // log 2! = 0.6931, log 3! = 1.7918, by Stirling 0.6518 and 1.7641.
  CHECK(Near(session.Floats(LogPoissonLoss(logits, labels, true)),
             {1, 0.36787944 + 2 + 0.6518065, 2.7182818 - 3 + 1.7640815}));
}

TEST_CASE("a logistic regression is a binary class's loss with a regression's metrics") {
  Session session;
  const HeadInputs inputs{.logits = session.Const({2, 1}, {-1, 1}),
                          .labels = session.Const({2}, {0, 1})};
  const Evaluated result = Evaluate(session, LogisticRegressionHead{}, inputs);
  CHECK(result.loss == doctest::Approx(0.31326169));
  CHECK(KeysOf(result.metrics) == Texts{"average_loss", "label/mean", "prediction/mean"});
  const HeadOutputs outputs = BuildHead(LogisticRegressionHead{}, {.logits = inputs.logits});
  CHECK(KeysOf(outputs.predictions) == Texts{"logits", "predictions"});
  CHECK(KeysOf(outputs.export_outputs) == Texts{"predict", "regression", "serving_default"});
  CHECK(outputs.export_outputs.at("serving_default").kind == ExportKind::kRegression);
}

TEST_CASE("a job's metrics read what the head has") {
  Session session;
  const Evaluated result =
      Evaluate(session, MultiLabelHead{.n_classes = 2}, Pair(session),
               {BinaryAccuracyOptions{}, ConfusionOptions<ConfusionCell::kFalsePositives>{},
                TradeoffOptions<Tradeoff::kRecallAtPrecision>{.least = 0.5, .name = "best"},
                MeanOptions{.values = "labels"}, PrecisionOptions{.name = "exact"}});
  CHECK(result.metrics.at("binary_accuracy") == 0.25F);
  CHECK(result.metrics.at("false_positives") == 1);
  CHECK(result.metrics.at("best") == 1);
  CHECK(result.metrics.at("labels/mean") == 0.75F);
  CHECK(result.metrics.at("exact") == 0.5F);
  Session regression;
  const Evaluated root = Evaluate(
      regression, RegressionHead{},
      {.logits = regression.Const({2, 1}, {1, 2}), .labels = regression.Const({2}, {4, 6})},
      {RootMeanSquaredErrorOptions{}});
  CHECK(root.metrics.at("root_mean_squared_error") == doctest::Approx(std::sqrt(12.5)));
  const auto message = [&](const ExtraMetric& metric) {
    const HeadOutputs outputs =
        BuildHead(RegressionHead{},
                  {.logits = regression.Const({1, 1}, {1}), .labels = regression.Ints({1}, {1})});
    try {
      (void)ExtraMetricBuilders({metric}, outputs.metric_tensors);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(message(TradeoffOptions<Tradeoff::kPrecisionAtRecall>{.least = 2}) ==
        "Argument `recall` must be in the range [0, 1]. Received: recall=2");
  CHECK(message(MeanOptions{.values = "logistic"}) ==
        "metric 'mean' needs a head with these values");
}

TEST_CASE("a head's name comes after its metrics and before its ops") {
  Session session;
  const HeadInputs inputs = Pair(session);
  const MultiLabelHead head{.n_classes = 2, .thresholds = {0.25}, .name = "tags"};
  const Evaluated result = Evaluate(session, head, inputs);
  for (const char* const key : {"average_loss/tags", "auc/tags", "auc_precision_recall/tags",
                                "recall/positive_threshold_0.25/tags"}) {
    CAPTURE(key);
    CHECK(result.metrics.contains(key));
  }
  CHECK(result.metrics.size() == 6);
  const HeadOutputs outputs =
      BuildHead(BinaryClassHead{.name = "yes"}, {.logits = session.Const({1, 1}, {0})});
  CHECK(outputs.predictions.at("logistic").name() == "yes/predictions/logistic");
  CHECK(MessageOf(session, RegressionHead{.name = "a b"}, inputs) ==
        "'a b' is not a valid scope name");
}

}  // namespace
}  // namespace tpuest::nn
