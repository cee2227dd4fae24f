// Cases of tf.estimator's own tests, by their numbers in a list: the results of the heads for the
// logits of the case's model.

#include <doctest/doctest.h>

#include "tests/core/nn/evaluate_head.h"
#include "tests/core/nn/near.h"

namespace tpuest::nn {
namespace {

using Expected = std::map<std::string, double>;

void CheckMetrics(const Evaluated& result, const Expected& expected) {
  for (const auto& metric : expected) {
    CAPTURE(metric.first);
    CHECK(result.metrics.at(metric.first) == doctest::Approx(metric.second).epsilon(1e-4));
  }
}

std::vector<std::string> CaseTexts(const Tensor& tensor) {
  return {tensor.strings().begin(), tensor.strings().end()};
}

TEST_CASE("case 1: regression, 13 for 10") {
  Session session;
  const Evaluated one =
      Evaluate(session, RegressionHead{},
               {.logits = session.Const({1, 1}, {13}), .labels = session.Ints({1}, {10})});
  CHECK(one.loss == 9);
  CheckMetrics(one, {{"average_loss", 9}, {"prediction/mean", 13}, {"label/mean", 10}});
  Session pair;
  const HeadInputs two{.logits = pair.Const({2, 1}, {13, 13}),
                       .labels = pair.Ints({2, 1}, {10, 10})};
  CHECK(Evaluate(pair, RegressionHead{}, two).loss == 9);
  Session sum;
  CHECK(Evaluate(sum, RegressionHead{.loss_reduction = "sum"},
                 {.logits = sum.Const({2, 1}, {13, 13}), .labels = sum.Ints({2, 1}, {10, 10})})
            .loss == 18);
}

TEST_CASE("case 2: regression with weights 1 and 2") {
  for (const auto& [reduction, loss] :
       std::map<std::string, float>{{"SUM_OVER_BATCH_SIZE", 13.5F}, {"sum", 27}}) {
    Session session;
    const Evaluated result =
        Evaluate(session, RegressionHead{.weight_column = "w", .loss_reduction = reduction},
                 {.logits = session.Const({2, 1}, {13, 13}),
                  .features = {{"w", session.Const({2}, {1, 2})}},
                  .labels = session.Ints({2}, {10, 10})});
    CHECK(result.loss == loss);
    CheckMetrics(result, {{"average_loss", 9}});
  }
}

TEST_CASE("case 7: a binary class, far off") {
  Session session;
  const Evaluated result =
      Evaluate(session, BinaryClassHead{},
               {.logits = session.Const({1, 1}, {-41}), .labels = session.Ints({1}, {1})});
  CHECK(result.loss == doctest::Approx(41));
  CheckMetrics(result, {{"average_loss", 41},
                        {"accuracy", 0},
                        {"precision", 0},
                        {"recall", 0},
                        {"prediction/mean", 0},
                        {"label/mean", 1},
                        {"accuracy_baseline", 1},
                        {"auc", 0},
                        {"auc_precision_recall", 1}});
}

TEST_CASE("case 10: four classes, and the first losses of zero logits") {
  const std::vector<float> logits = {-35, -1, 33, 67, -35, 1, 37, 73};
  Session plain;
  const Evaluated result =
      Evaluate(plain, MultiClassHead{.n_classes = 4},
               {.logits = plain.Const({2, 4}, logits), .labels = plain.Ints({2}, {1, 0})});
  CHECK(result.loss == doctest::Approx(88));
  CheckMetrics(result, {{"average_loss", 88}, {"accuracy", 0}});
  Session weighted;
  const Evaluated other = Evaluate(weighted, MultiClassHead{.n_classes = 4, .weight_column = "w"},
                                   {.logits = weighted.Const({2, 4}, logits),
                                    .features = {{"w", weighted.Const({2}, {1, 2})}},
                                    .labels = weighted.Ints({2}, {1, 0})});
  CHECK(other.loss == doctest::Approx(142));
  CheckMetrics(other, {{"average_loss", 94.6667}});
  Session zero;
  const HeadInputs four{.logits = zero.Const({1, 4}, {0, 0, 0, 0}), .labels = zero.Ints({1}, {1})};
  CHECK(Evaluate(zero, MultiClassHead{.n_classes = 4}, four).loss == doctest::Approx(1.3862944));
  Session two;
  CHECK(Evaluate(two, BinaryClassHead{},
                 {.logits = two.Const({1, 1}, {0}), .labels = two.Ints({1}, {1})})
            .loss == doctest::Approx(0.6931472));
}

TEST_CASE("case 11: predictions of two and of four classes") {
  Session session;
  const HeadOutputs outputs = BuildHead(BinaryClassHead{}, {.logits = session.Const({1, 1}, {-1})});
  const auto at = [&](const char* key) { return session.Floats(outputs.predictions.at(key)); };
  CHECK(Near(at("logits"), {-1}));
  CHECK(Near(at("logistic"), {0.26894}, 1e-4));
  CHECK(Near(at("probabilities"), {0.73106, 0.26894}, 1e-4));
  CHECK(Near(at("class_ids"), {0}));
  CHECK(Near(at("all_class_ids"), {0, 1}));
  CHECK(CaseTexts(session.Get(outputs.predictions.at("classes"))) == std::vector<std::string>{"0"});
  CHECK(CaseTexts(session.Get(outputs.predictions.at("all_classes"))) ==
        std::vector<std::string>{"0", "1"});
  const HeadOutputs named =
      BuildHead(BinaryClassHead{.label_vocabulary = {"class_vocab_0", "class_vocab_1"}},
                {.logits = session.Const({1, 1}, {-1})});
  CHECK(CaseTexts(session.Get(named.predictions.at("classes"))) ==
        std::vector<std::string>{"class_vocab_0"});
  const HeadOutputs four = BuildHead(MultiClassHead{.n_classes = 4},
                                     {.logits = session.Const({1, 4}, {10, -1, -12, -23})});
  CHECK(Near(session.Floats(four.predictions.at("class_ids")), {0}));
  CHECK(CaseTexts(session.Get(four.predictions.at("all_classes"))).size() == 4);
}

TEST_CASE("case 15: three classes and three numbers") {
  const std::vector<float> row = {-0.48F, 0.48F, 0.39F};
  Session session;
  const HeadOutputs outputs =
      BuildHead(MultiClassHead{.n_classes = 3}, {.logits = session.Const({1, 3}, row)});
  CHECK(Near(session.Floats(outputs.predictions.at("probabilities")),
             {0.16670536, 0.43538380, 0.39791084}, 1e-5));
  CHECK(Near(session.Floats(outputs.predictions.at("class_ids")), {1}));
  Session regression;
  const Evaluated result =
      Evaluate(regression, RegressionHead{.label_dimension = 3, .weight_column = "w"},
               {.logits = regression.Const({1, 3}, row),
                .features = {{"w", regression.Const({1}, {10})}},
                .labels = regression.Const({1, 3}, {1, -1, 0.5F})});
  CHECK(result.loss == doctest::Approx(14.643).epsilon(1e-4));
  CheckMetrics(result,
               {{"average_loss", 1.4643}, {"prediction/mean", 0.13}, {"label/mean", 0.166667}});
  Session class_one;
  CHECK(Evaluate(class_one, MultiClassHead{.n_classes = 3},
                 {.logits = class_one.Const({1, 3}, {-2.08F, 2.08F, 1.19F}),
                  .labels = class_one.Ints({1}, {1})})
            .loss == doctest::Approx(0.35505795).epsilon(1e-5));
}

TEST_CASE("case 18: one logit for all") {
  Session one;
  const Evaluated right = Evaluate(
      one, BinaryClassHead{}, {.logits = one.Const({1, 1}, {-1}), .labels = one.Ints({1}, {1})});
  CHECK(right.loss == doctest::Approx(1.3133).epsilon(1e-4));
  CheckMetrics(right, {{"prediction/mean", 0.2689}, {"auc", 0}, {"auc_precision_recall", 1}});
  Session two;
  const Evaluated both =
      Evaluate(two, BinaryClassHead{},
               {.logits = two.Const({2, 1}, {-1, -1}), .labels = two.Ints({2}, {1, 0})});
  CHECK(both.loss == doctest::Approx(0.81325).epsilon(1e-4));
  CheckMetrics(both, {{"accuracy", 0.5}, {"auc", 0.5}, {"auc_precision_recall", 0.5}});
  Session weighted;
  const Evaluated uneven = Evaluate(weighted, BinaryClassHead{.weight_column = "w"},
                                    {.logits = weighted.Const({2, 1}, {-1, -1}),
                                     .features = {{"w", weighted.Const({2}, {1, 2})}},
                                     .labels = weighted.Ints({2}, {1, 0})});
  CHECK(uneven.loss == doctest::Approx(0.96985).epsilon(1e-4));
  CheckMetrics(
      uneven,
      {{"average_loss", 0.646567}, {"accuracy", 0.66667}, {"auc_precision_recall", 0.33333}});
  Session four;
  const Evaluated classes = Evaluate(
      four, MultiClassHead{.n_classes = 4},
      {.logits = four.Const({2, 4}, std::vector<float>(8, -1)), .labels = four.Ints({2}, {1, 0})});
  CHECK(classes.loss == doctest::Approx(1.3862944));
  CheckMetrics(classes, {{"accuracy", 0.5}});
}

TEST_CASE("case 20: thresholds, reductions and regularization of a binary head") {
  Session thresholds;
  const Evaluated at = Evaluate(
      thresholds, BinaryClassHead{.thresholds = {0.25, 0.5, 0.75}},
      {.logits = thresholds.Const({2, 1}, {-1, 1}), .labels = thresholds.Ints({2, 1}, {1, 1})});
  CHECK(at.loss == doctest::Approx(0.81326169));
  CheckMetrics(at, {{"accuracy", 0.5},
                    {"precision", 1},
                    {"recall", 0.5},
                    {"accuracy/positive_threshold_0.25", 1},
                    {"precision/positive_threshold_0.25", 1},
                    {"recall/positive_threshold_0.25", 1},
                    {"accuracy/positive_threshold_0.5", 0.5},
                    {"precision/positive_threshold_0.5", 1},
                    {"recall/positive_threshold_0.5", 0.5},
                    {"accuracy/positive_threshold_0.75", 0},
                    {"precision/positive_threshold_0.75", 0},
                    {"recall/positive_threshold_0.75", 0}});
  Session sum;
  CHECK(Evaluate(sum, BinaryClassHead{.loss_reduction = "sum"},
                 {.logits = sum.Const({2, 1}, {45, -41}), .labels = sum.Ints({2}, {1, 1})})
            .loss == doctest::Approx(41));
  Session regular;
  const Evaluated result =
      Evaluate(regular, BinaryClassHead{},
               {.logits = regular.Const({2, 1}, {45, -41}),
                .labels = regular.Ints({2}, {1, 1}),
                .regularization_losses = {regular.Const({}, {1.5F}), regular.Const({}, {0.5F})}});
  CHECK(result.loss == doctest::Approx(22.5));
  CheckMetrics(result, {{"average_loss", 20.5},
                        {"regularization_loss", 2},
                        {"accuracy", 0.5},
                        {"precision", 1},
                        {"recall", 0.5},
                        {"auc", 0},
                        {"auc_precision_recall", 1},
                        {"accuracy_baseline", 1}});
}

TEST_CASE("case 21: binary predictions, words and fractions") {
  Session session;
  const HeadOutputs outputs =
      BuildHead(BinaryClassHead{}, {.logits = session.Const({2, 1}, {0.3F, -0.4F})});
  CHECK(Near(session.Floats(outputs.predictions.at("logistic")), {0.574443, 0.401312}, 1e-5));
  const HeadOutputs words = BuildHead(BinaryClassHead{.label_vocabulary = {"aang", "iroh"}},
                                      {.logits = session.Const({2, 1}, {0, 1})});
  CHECK(CaseTexts(session.Get(words.predictions.at("classes"))) ==
        std::vector<std::string>{"aang", "iroh"});
  Session fractions;
  CHECK(Evaluate(fractions, BinaryClassHead{},
                 {.logits = fractions.Const({2, 1}, {0.5F, -0.3F}),
                  .labels = fractions.Const({2}, {0.8F, 0.4F})})
            .loss == doctest::Approx(0.6242161));
  const auto fault =
      FindLabelFault(Tensor::Of<float>({1}, {1.2F}), 1, LabelRangesOf(BinaryClassHead{}).only());
  REQUIRE(fault.has_value());
  CHECK(fault->message == "label is 1.2: Labels must be <= n_classes - 1");
}

TEST_CASE("case 24: Poisson and logistic regression") {
  Session poisson;
  const HeadInputs counts{.logits = poisson.Const({3, 1}, {0, -1, 1}),
                          .labels = poisson.Ints({3, 1}, {1, 2, 3})};
  CHECK(Evaluate(poisson, PoissonRegressionHead{}, counts).loss ==
        doctest::Approx(1.834).epsilon(1e-3));
  const HeadOutputs outputs = BuildHead(PoissonRegressionHead{}, {.logits = counts.logits});
  CHECK(Near(poisson.Floats(outputs.predictions.at("predictions")), {1, 0.36787944, 2.7182818},
             1e-6));
  Session logistic;
  const Evaluated result = Evaluate(logistic, LogisticRegressionHead{},
                                    {.logits = logistic.Const({3, 1}, {0, -1, 1}),
                                     .labels = logistic.Const({3, 1}, {0.4F, 0.6F, 0.8F})});
  CHECK(result.loss == doctest::Approx(0.7066).epsilon(1e-4));
  for (const float label : {1.2F, -0.2F}) {
    const auto fault = FindLabelFault(Tensor::Of<float>({1, 1}, {label}), 1,
                                      LabelRangesOf(LogisticRegressionHead{}).only());
    REQUIRE(fault.has_value());
    CHECK(fault->message.ends_with(": Labels must be in range [0, 1]"));
  }
}

}  // namespace
}  // namespace tpuest::nn
