// Cases of TensorFlow's own tests of tf.estimator's heads.

#include "core/nn/heads/heads.h"

#include <doctest/doctest.h>

#include "tests/core/nn/evaluate_head.h"
#include "tests/core/nn/near.h"

namespace tpuest::nn {
namespace {

TEST_CASE("a binary head evaluates as tf.estimator's does") {
  Session session;
  const Evaluated result = Evaluate(
      session, BinaryClassHead{},
      {.logits = session.Const({2, 1}, {45, -41}), .labels = session.Ints({2, 1}, {1, 1})});
  CHECK(result.loss == doctest::Approx(20.5));
  const std::map<std::string, double> expected = {
      {"average_loss", 20.5},     {"accuracy", 0.5}, {"precision", 1},         {"recall", 0.5},
      {"prediction/mean", 0.5},   {"label/mean", 1}, {"accuracy_baseline", 1}, {"auc", 0},
      {"auc_precision_recall", 1}};
  CHECK(result.metrics.size() == expected.size());
  for (const auto& metric : expected) {
    CAPTURE(metric.first);
    CHECK(result.metrics.at(metric.first) == doctest::Approx(metric.second));
  }
}

TEST_CASE("thresholds add three metrics each") {
  Session session;
  const Evaluated result =
      Evaluate(session, BinaryClassHead{.thresholds = {0.25, 0.5, 0.75}},
               {.logits = session.Const({2, 1}, {-1, 1}), .labels = session.Ints({2}, {1, 1})});
  CHECK(result.loss == doctest::Approx(0.81326169));
  CHECK(result.metrics.at("accuracy/positive_threshold_0.25") == 1);
  CHECK(result.metrics.at("precision/positive_threshold_0.25") == 1);
  CHECK(result.metrics.at("recall/positive_threshold_0.25") == 1);
  CHECK(result.metrics.at("accuracy/positive_threshold_0.5") == 0.5F);
  CHECK(result.metrics.at("precision/positive_threshold_0.5") == 1);
  CHECK(result.metrics.at("recall/positive_threshold_0.5") == 0.5F);
  CHECK(result.metrics.at("accuracy/positive_threshold_0.75") == 0);
  CHECK(result.metrics.at("precision/positive_threshold_0.75") == 0);
  CHECK(result.metrics.at("recall/positive_threshold_0.75") == 0);
}

TEST_CASE("a sum instead of a mean, and regularisation in the loss but not in average_loss") {
  Session session;
  const Evaluated result =
      Evaluate(session, BinaryClassHead{.loss_reduction = "SUM"},
               {.logits = session.Const({2, 1}, {45, -41}),
                .labels = session.Ints({2}, {1, 1}),
                .regularization_losses = {session.Const({}, {1.5F}), session.Const({}, {0.5F})}});
  CHECK(result.loss == doctest::Approx(43));
  CHECK(result.metrics.at("average_loss") == doctest::Approx(20.5));
  CHECK(result.metrics.at("regularization_loss") == doctest::Approx(2));
}

TEST_CASE("binary labels may be fractions") {
  Session session;
  const HeadOutputs outputs = BuildHead(
      BinaryClassHead{},
      {.logits = session.Const({2, 1}, {0.5F, -0.3F}), .labels = session.Const({2}, {0.8F, 0.4F})});
  CHECK(session.Float(outputs.loss) == doctest::Approx(0.6242161));
}

TEST_CASE("binary predictions have tf.estimator's keys and values") {
  Session session;
  const HeadOutputs outputs =
      BuildHead(BinaryClassHead{}, {.logits = session.Const({2, 1}, {-1, 0})});
  const auto at = [&](const char* key) { return session.Floats(outputs.predictions.at(key)); };
  CHECK(Near(at("logits"), {-1, 0}));
  CHECK(Near(at("logistic"), {0.26894143, 0.5}));
  CHECK(Near(at("probabilities"), {0.73105860, 0.26894143, 0.5, 0.5}));
  CHECK(Near(at("class_ids"), {0, 0}));
  CHECK(Near(at("all_class_ids"), {0, 1, 0, 1}));
  CHECK(outputs.predictions.at("class_ids").shape() == Shape{2, 1});
  CHECK(outputs.predictions.at("classes").dtype() == DType::kString);
  CHECK(outputs.predictions.size() == 7);
  CHECK_FALSE(outputs.loss.valid());
  std::vector<std::string> keys;
  for (const auto& [key, signature] : outputs.export_outputs) keys.push_back(key);
  CHECK(keys ==
        std::vector<std::string>{"classification", "predict", "regression", "serving_default"});
}

TEST_CASE("class strings are the ids") {
  Session session;
  const HeadOutputs outputs =
      BuildHead(BinaryClassHead{}, {.logits = session.Const({2, 1}, {-1, 2})});
  const Tensor classes = session.Get(outputs.predictions.at("classes"));
  CHECK(classes.strings()[0] == "0");
  CHECK(classes.strings()[1] == "1");
  const Tensor all = session.Get(outputs.predictions.at("all_classes"));
  CHECK(all.shape() == Shape{2, 2});
  CHECK(all.strings()[3] == "1");
}

TEST_CASE("a multi-class head evaluates as tf.estimator's does") {
  Session session;
  const Evaluated result = Evaluate(
      session, MultiClassHead{.n_classes = 4},
      {.logits = session.Const({2, 4}, {-35, -1, 33, 67, -35, 1, 37, 73}),
       .labels = session.Ints({2}, {1, 0})},
      {AccuracyOptions{}, RecallAtKOptions{.k = 3}, RecallAtKOptions{.k = 4, .name = "top_4"}});
  CHECK(result.loss == doctest::Approx(88));
  CHECK(result.metrics.at("average_loss") == doctest::Approx(88));
  CHECK(result.metrics.at("accuracy") == 0);
  CHECK(result.metrics.at("recall_at_3") == 0.5F);
  CHECK(result.metrics.at("top_4") == 1);
}

TEST_CASE("weights count in the loss by elements, in average_loss by their sum") {
  Session session;
  const Evaluated result =
      Evaluate(session, MultiClassHead{.n_classes = 4, .weight_column = "w"},
               {.logits = session.Const({2, 4}, {-35, -1, 33, 67, -35, 1, 37, 73}),
                .features = {{"w", session.Const({2}, {1, 2})}},
                .labels = session.Ints({2, 1}, {1, 0})});
  CHECK(result.loss == doctest::Approx(142));
  CHECK(result.metrics.at("average_loss") == doctest::Approx(94.6667));
}

TEST_CASE("a regression head evaluates as tf.estimator's does") {
  Session session;
  const Evaluated one =
      Evaluate(session, RegressionHead{},
               {.logits = session.Const({1, 1}, {13}), .labels = session.Const({1}, {10})});
  CHECK(one.loss == 9);
  CHECK(one.metrics == std::map<std::string, float>{
                           {"average_loss", 9}, {"label/mean", 10}, {"prediction/mean", 13}});

  Session weighted;
  const Evaluated two = Evaluate(weighted, RegressionHead{.weight_column = "w"},
                                 {.logits = weighted.Const({2, 1}, {13, 13}),
                                  .features = {{"w", weighted.Const({2, 1}, {1, 2})}},
                                  .labels = weighted.Ints({2}, {10, 10})});
  CHECK(two.loss == 13.5F);
  CHECK(two.metrics.at("average_loss") == 9);
}

TEST_CASE("regression over three dimensions") {
  Session session;
  const Evaluated result = Evaluate(session, RegressionHead{.label_dimension = 3},
                                    {.logits = session.Const({1, 3}, {-0.48F, 0.48F, 0.39F}),
                                     .labels = session.Const({1, 3}, {1, -1, 0.5F})},
                                    {MeanAbsoluteErrorOptions{}, MeanSquaredErrorOptions{}});
  CHECK(result.loss == doctest::Approx(1.4643).epsilon(1e-4));
  CHECK(result.metrics.at("prediction/mean") == doctest::Approx(0.13));
  CHECK(result.metrics.at("label/mean") == doctest::Approx(0.166667));
  CHECK(result.metrics.at("mean_absolute_error") == doctest::Approx((1.48 + 1.48 + 0.11) / 3));
  CHECK(result.metrics.at("mean_squared_error") == doctest::Approx(result.loss));
}

TEST_CASE("padding has no part in loss and metrics") {
  Session session;
  const Evaluated result = Evaluate(session, BinaryClassHead{},
                                    {.logits = session.Const({3, 1}, {45, -41, 9}),
                                     .labels = session.Ints({3}, {1, 1, 0}),
                                     .example_weight = session.Const({3}, {1, 1, 0})});
  CHECK(result.loss == doctest::Approx(20.5));
  CHECK(result.metrics.at("average_loss") == doctest::Approx(20.5));
  CHECK(result.metrics.at("accuracy") == 0.5F);
  CHECK(result.metrics.at("label/mean") == 1);
  CHECK(result.metrics.at("auc_precision_recall") == doctest::Approx(1));
}

TEST_CASE("invalid inputs of a head are refused in TensorFlow's words") {
  Session session;
  const Value logits = session.Const({2, 3}, {0, 0, 0, 0, 0, 0});
  const Value ids = session.Ints({2}, {0, 1});
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 2}, {.logits = logits}) ==
        "n_classes must be > 2: 2.");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 4}, {.logits = logits}) ==
        "logits shape must be [D0, D1, ... DN, logits_dimension], got [2,3].");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3},
                  {.logits = logits, .labels = session.Const({2}, {0, 1})}) ==
        "Labels dtype should be integer. Instead got float32.");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3},
                  {.logits = logits, .labels = session.Ints({2, 3}, {0, 0, 1, 1, 0, 0})}) ==
        "Mismatched label shape. Expected labels dimension=1.  Received 3.");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3, .weight_column = "wieght"},
                  {.logits = logits,
                   .features = {{"weight", session.Const({2}, {1, 1})}},
                   .labels = ids}) == "weight_column 'wieght' is not among the features: weight");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3, .weight_column = "w"},
                  {.logits = logits,
                   .features = {{"w", session.Const({2, 3}, {1, 1, 1, 1, 1, 1})}},
                   .labels = ids}) ==
        "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1], got [2,3]");
  CHECK(MessageOf(session, BinaryClassHead{.thresholds = {1.5}}, {.logits = logits}) ==
        "thresholds not in (0, 1): 1.5.");
  CHECK(MessageOf(session, RegressionHead{.label_dimension = 0}, {.logits = logits}) ==
        "Invalid label_dimension 0.");
}

TEST_CASE("a metric that the head cannot have is refused at its place") {
  Session session;
  const HeadOutputs outputs = BuildHead(RegressionHead{}, {.logits = session.Const({1, 1}, {13}),
                                                           .labels = session.Const({1}, {10})});
  const auto message = [&](const std::vector<ExtraMetric>& extra) {
    try {
      (void)ExtraMetricBuilders(extra, outputs.metric_tensors);
    } catch (const Error& error) {
      return fmt::format("{}:{}", error.faults().front().place.line, error.message());
    }
    return std::string();
  };
  CHECK(message({AucOptions{.place = {.file = "job.yaml", .line = 5}}}) ==
        "5:metric 'auc' needs a BinaryClassHead or MultiLabelHead");
  CHECK(message({MeanSquaredErrorOptions{}, MeanSquaredErrorOptions{}}) ==
        "0:two metrics are called 'mean_squared_error'");
  CHECK(message({MeanSquaredErrorOptions{.name = "loss"}}) ==
        "0:Metric with name \"loss\" is not allowed, because Estimator already defines a default "
        "metric with the same name.");
}

TEST_CASE("a label outside its range is found with its row") {
  const LabelRange range = LabelRangesOf(MultiClassHead{.n_classes = 10}).only();
  CHECK_FALSE(FindLabelFault(Tensor::Of<int32_t>({3}, {0, 9, 5}), 3, range).has_value());
  const Tensor labels = Tensor::Of<int32_t>({3, 1}, {0, 10, -1});
  const auto above = FindLabelFault(labels, 3, range);
  REQUIRE(above.has_value());
  CHECK(above->row == 1);
  CHECK(above->message == "label is 10: Labels must be <= n_classes - 1");
  CHECK_FALSE(FindLabelFault(labels, 1, range).has_value());
  const auto below = FindLabelFault(Tensor::Of<int64_t>({2}, {3, -1}), 2, range);
  REQUIRE(below.has_value());
  CHECK(below->message == "label is -1: Labels must be >= 0");
  CHECK(LabelHint(range) == "this head takes labels from 0 to 9");
  const LabelRange binary = LabelRangesOf(BinaryClassHead{}).only();
  CHECK(FindLabelFault(Tensor::Of<float>({1}, {1.2F}), 1, binary).has_value());
  CHECK(FindLabelFault(Tensor::Of<float>({1}, {NAN}), 1, binary).has_value());
  CHECK_FALSE(LabelRangesOf(RegressionHead{}).valid());
}

TEST_CASE("a label that is not in the vocabulary is found with its row") {
  const LabelRange range =
      LabelRangesOf(BinaryClassHead{.label_vocabulary = {"aang", "iroh"}}).only();
  const auto strings = [](const std::vector<std::string>& texts) {
    return Tensor::Strings({static_cast<int64_t>(texts.size())}, texts);
  };
  CHECK_FALSE(FindLabelFault(strings({"iroh", "aang"}), 2, range).has_value());
  const auto fault = FindLabelFault(strings({"iroh", "zuko"}), 2, range);
  REQUIRE(fault.has_value());
  CHECK(fault->row == 1);
  CHECK(fault->message ==
        "label is \"zuko\", which is not in label_vocabulary: Labels must be >= 0");
  CHECK(LabelHint(range) == "this head takes the labels aang, iroh");
}

// ---- label_vocabulary ---------------------------------------------------------------------------

std::vector<std::string> TextsOf(const Tensor& tensor) {
  return {tensor.strings().begin(), tensor.strings().end()};
}

using Texts = std::vector<std::string>;

TEST_CASE("a vocabulary names a binary head's classes and takes strings as labels") {
  Session session;
  const BinaryClassHead head{.label_vocabulary = {"aang", "iroh"}};
  const HeadInputs inputs{
      .logits = session.Const({2, 1}, {45, -41}),
      .labels = session.graph().Constant(Tensor::Strings({2, 1}, {"iroh", "iroh"}))};
  const Evaluated result = Evaluate(session, head, inputs);
  CHECK(result.loss == doctest::Approx(20.5));
  CHECK(result.metrics.at("accuracy") == 0.5F);
  CHECK(result.metrics.at("label/mean") == 1);
  const HeadOutputs outputs = BuildHead(head, {.logits = session.Const({2, 1}, {0.3F, -0.4F})});
  CHECK(TextsOf(session.Get(outputs.predictions.at("classes"))) == Texts{"iroh", "aang"});
  CHECK(TextsOf(session.Get(outputs.predictions.at("all_classes"))) ==
        Texts{"aang", "iroh", "aang", "iroh"});
  CHECK(session.Floats(outputs.predictions.at("class_ids")) == std::vector<float>{1, 0});
  CHECK(session.Floats(outputs.predictions.at("all_class_ids")) == std::vector<float>{0, 1, 0, 1});
  CHECK(outputs.predictions.at("classes").node->after());
  CHECK(outputs.export_outputs.at("classification").outputs.at("classes") ==
        outputs.predictions.at("all_classes"));
}

TEST_CASE("a vocabulary names a multi-class head's classes and takes strings as labels") {
  Session session;
  const MultiClassHead head{.n_classes = 3, .label_vocabulary = {"cat", "dog", "fox"}};
  const HeadInputs inputs{.logits = session.Const({2, 3}, {10, 0, 0, 0, 10, 0}),
                          .labels = session.graph().Constant(Tensor::Strings({2}, {"dog", "dog"}))};
  const Evaluated result = Evaluate(session, head, inputs);
  CHECK(result.loss == doctest::Approx(5).epsilon(1e-4));
  CHECK(result.metrics.at("accuracy") == 0.5F);
  const HeadOutputs outputs = BuildHead(head, {.logits = inputs.logits});
  CHECK(TextsOf(session.Get(outputs.predictions.at("classes"))) == Texts{"cat", "dog"});
  CHECK(TextsOf(session.Get(outputs.predictions.at("all_classes"))) ==
        Texts{"cat", "dog", "fox", "cat", "dog", "fox"});
}

TEST_CASE("a vocabulary of another size, or labels of another dtype, are TensorFlow's errors") {
  Session session;
  const Value logits = session.Const({1, 3}, {0, 0, 0});
  const Value words = session.graph().Constant(Tensor::Strings({1}, {"cat"}));
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3, .label_vocabulary = {"cat", "dog"}},
                  {.logits = logits}) ==
        "\"label_vocabulary\" does not have \"n_classes\" items. len(label_vocabulary)=2, "
        "n_classes=3, label_vocabulary=['cat', 'dog']");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3, .label_vocabulary = {"cat", "a", "a"}},
                  {.logits = logits}) == "label_vocabulary contains \"a\" twice");
  CHECK(MessageOf(session,
                  MultiClassHead{.n_classes = 3, .label_vocabulary = {"cat", "dog", "fox"}},
                  {.logits = logits, .labels = session.Ints({1}, {0})}) ==
        "Labels dtype should be string if there is a vocabulary. Instead got int32");
  CHECK(MessageOf(session, MultiClassHead{.n_classes = 3}, {.logits = logits, .labels = words}) ==
        "Labels dtype should be integer. Instead got string.");
  CHECK(MessageOf(session, BinaryClassHead{},
                  {.logits = session.Const({1, 1}, {0}), .labels = words}) ==
        "Labels dtype should be a number without a vocabulary. Instead got string.");
}

}  // namespace
}  // namespace tpuest::nn
