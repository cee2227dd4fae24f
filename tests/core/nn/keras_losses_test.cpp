// Losses by name, computed by TensorFlow 2.15: tf.compat.v1.losses and tf.keras.losses.

#include "core/nn/heads/keras_losses.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/nn/losses.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

struct Examples {
  Value pairs;    // 0 and 1
  Value classes;  // one of each row is 1
  Value sure;     // probabilities
  Value logits;
};

Examples Two(Session& session) {
  return {.pairs = session.Const({2, 3}, {1, 0, 1, 0, 1, 0}),
          .classes = session.Const({2, 3}, {0, 0, 1, 0, 1, 0}),
          .sure = session.Const({2, 3}, {0.8F, 0.3F, 0.4F, 0.1F, 0.6F, 0.25F}),
          .logits = session.Const({2, 3}, {2, -1, 0.5F, -3, 0.25F, 1})};
}

// One loss of two examples with weights 2 and 1/2, by SUM_OVER_BATCH_SIZE, SUM, MEAN and
// SUM_BY_NONZERO_WEIGHTS.
std::vector<float> Reduced(Session& session, Value losses) {
  const Value rows = losses.shape().rank() == 1
                         ? losses.graph().Add("ExpandDims", {losses, session.Ints({}, {1})})
                         : losses;
  std::vector<float> numbers;
  for (const LossReduction reduction :
       {LossReduction::kSumOverBatchSize, LossReduction::kSum, LossReduction::kMean,
        LossReduction::kSumByNonzeroWeights}) {
    const Value loss = ReduceLoss(rows, {.weights = session.Const({2, 1}, {2, 0.5F})}, reduction);
    numbers.push_back(session.Floats(loss).front());
  }
  return numbers;
}

TEST_CASE("the losses of tf.compat.v1.losses, in each reduction") {
  Session session;
  const Examples two = Two(session);
  const auto reduced = [&](std::string_view name, Value labels, Value predictions,
                           const KerasArguments& arguments) {
    return Reduced(session, KerasFunction(name, labels, predictions, arguments));
  };
  CHECK(Near(reduced("absolute_difference", two.pairs, two.logits, {}),
             {1.2291666, 7.375, 0.98333335, 1.2291666}));
  CHECK(Near(reduced("huber_loss", two.pairs, two.logits, {.delta = 0.75}),
             {0.58072919, 3.484375, 0.46458334, 0.58072919}));
  CHECK(Near(reduced("hinge_loss", two.pairs, two.logits, {}),
             {0.39583334, 2.375, 0.31666666, 0.39583334}));
  CHECK(Near(reduced("log_loss", two.pairs, two.sure, {}),
             {0.57402527, 3.4441516, 0.45922023, 0.57402527}));
  CHECK(Near(reduced("cosine_distance", two.pairs, two.sure, {}),
             {-0.10000005, -0.20000011, -0.080000043, -0.10000005}));
  CHECK(Near(reduced("mean_pairwise_squared_error", two.pairs, two.logits, {}),
             {4.1770835, 8.354167, 3.3416668, 4.1770835}));
  CHECK(Near(reduced("sigmoid_cross_entropy", two.pairs, two.logits, {.label_smoothing = 0.1}),
             {0.53394628, 3.2036777, 0.42715701, 0.53394628}));
  CHECK(Near(reduced("softmax_cross_entropy", two.classes, two.logits, {.label_smoothing = 0.1}),
             {2.049453, 4.098906, 1.6395624, 2.049453}));
  CHECK(Near(reduced("sparse_softmax_cross_entropy", session.Ints({2}, {2, 1}), two.logits, {}),
             {2.0286198, 4.0572395, 1.6228958, 2.0286198}));
}

TEST_CASE("focal crossentropies of probabilities, logits, and what a sigmoid gives") {
  Session session;
  const Examples two = Two(session);
  const KerasArguments arguments{.from_logits = true,
                                 .label_smoothing = 0.1,
                                 .gamma = 1.5,
                                 .alpha = 0.3,
                                 .apply_class_balancing = true};
  const auto floats = [&](std::string_view name, Value labels, Value predictions,
                          const KerasArguments& with) {
    return session.Floats(KerasFunction(name, labels, predictions, with));
  };
  const std::string binary = "binary_focal_crossentropy";
  CHECK(Near(floats(binary, two.pairs, two.sure, {}), {0.12363035, 0.03358859}));
  CHECK(Near(floats(binary, two.pairs, two.logits, arguments), {0.02746016, 0.19040638}));
  const Value sigmoid = session.graph().Add("Sigmoid", {two.logits});
  CHECK(Near(floats(binary, two.pairs, sigmoid, {}), {0.03067835, 0.27079296}));
  const std::string categorical = "categorical_focal_crossentropy";
  CHECK(Near(floats(categorical, two.classes, two.sure, {}), {0.17770272, 0.01559355}));
  CHECK(Near(floats(categorical, two.classes, two.logits, arguments), {0.39593217, 0.22562025}));
  const Value softmax = session.graph().Add("Softmax", {two.logits});
  CHECK(Near(floats(categorical, two.classes, softmax, {}), {0.29608646, 0.13407354}));
}

// The numbers of tf.keras.losses (TensorFlow 2.15).
TEST_CASE("a crossentropy of logits takes the input of a sigmoid or softmax") {
  Session session;
  const Examples two = Two(session);
  const KerasArguments from_logits{.from_logits = true};
  const Value sigmoid = session.graph().Add("Sigmoid", {two.logits});
  const Value softmax = session.graph().Add("Softmax", {two.logits});
  const auto floats = [&](std::string_view name, Value labels, Value predictions) {
    return session.Floats(KerasFunction(name, labels, predictions, from_logits));
  };
  CHECK(Near(floats("binary_crossentropy", two.pairs, sigmoid), {0.30475557, 0.6459295}));
  CHECK(Near(floats("binary_focal_crossentropy", two.pairs, sigmoid), {0.05645503, 0.22902013}));
  CHECK(Near(floats("categorical_crossentropy", two.classes, softmax), {1.7413113, 1.1492338}));
  CHECK(Near(floats("categorical_focal_crossentropy", two.classes, softmax),
             {0.29608646, 0.13407354}));
  const Value numbers = session.Ints({2}, {2, 1});
  CHECK(Near(floats("sparse_categorical_crossentropy", numbers, softmax), {1.7413113, 1.1492338}));
}

// The numbers of tf.keras.losses (TensorFlow 2.15).
TEST_CASE("a crossentropy along another axis takes the input of a sigmoid or softmax") {
  Session session;
  const Value pairs = session.Const({1, 3, 2}, {1, 0, 1, 0, 1, 0});
  const Value classes = session.Const({1, 3, 2}, {1, 0, 0, 0, 0, 1});
  const Value logits = session.Const({1, 3, 2}, {2, -1, 0.5F, -3, 0.25F, 1});
  const Value sigmoid = session.graph().Add("Sigmoid", {logits});
  const Value softmax = session.graph().Add("Softmax", {logits});
  const auto along = [&](std::string_view name, Value labels, Value predictions, bool is_logits) {
    return session.Floats(
        KerasFunction(name, labels, predictions, {.from_logits = is_logits, .axis = 1}));
  };
  for (const bool is_logits : {false, true}) {
    CHECK(Near(along("binary_crossentropy", pairs, sigmoid, is_logits), {0.3923148, 0.5583703}));
    CHECK(Near(along("categorical_crossentropy", classes, softmax, is_logits),
               {0.33425853, 0.1429316}));
  }
  CHECK(Near(along("binary_focal_crossentropy", pairs, sigmoid, false), {0.05992617, 0.24154525}));
  CHECK(Near(along("binary_focal_crossentropy", pairs, sigmoid, true), {0.04820786, 0.2372673}));
}

// The numbers of tf.keras.losses (TensorFlow 2.15).
TEST_CASE("a loss is computed along the given axis") {
  Session session;
  const Value y = session.Const({2, 3, 2}, {1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0});
  const Value p = session.Const(
      {2, 3, 2}, {0.2F, 0.1F, 0.5F, 0.3F, 0.3F, 0.6F, 0.7F, 0.2F, 0.2F, 0.5F, 0.1F, 0.3F});
  const auto along = [&](std::string_view name, const KerasArguments& with) {
    return session.Floats(KerasFunction(name, y, p, with));
  };
  CHECK(Near(along("categorical_crossentropy", {.axis = 1}),
             {1.6094379, 0.5108256, 1.6094379, 1.6094379}));
  CHECK(Near(along("categorical_crossentropy", {.label_smoothing = 0.2, .axis = -2}),
             {1.5213208, 0.6764860, 1.5721302, 1.5213208}));
  CHECK(Near(along("binary_crossentropy", {.axis = 1}),
             {0.8864196, 0.3242868, 0.9729235, 0.8864196}));
  CHECK(Near(along("cosine_similarity", {.axis = 1}),
             {-0.3244429, -0.8846517, -0.2721655, -0.3244429}));
  CHECK_THROWS_WITH(std::ignore = along("binary_crossentropy", {.axis = 0}),
                    "axis is 0, but the output has the axes 1 to 2 besides the batch");
}

TEST_CASE("examples of an ignored class do not count in a sparse crossentropy") {
  Session session;
  const std::string sparse = "sparse_categorical_crossentropy";
  const Value p = session.Const({2, 2, 3}, {2, -1, 0.5F, -3, 0.25F, 1, 0.5F, 0.5F, 2, 0, 0, 1});
  const Value y = KerasLabels(session.Ints({2, 2}, {0, 2, 1, -1}), p, sparse);
  const KerasArguments arguments{.from_logits = true, .ignore_class = -1};
  const Value losses = KerasFunction(sparse, y, p, arguments);
  CHECK(Near(session.Floats(losses), {0.2413113, 0.3992338, 1.8689811, 0}));
  const Value mask = KerasMask(sparse, y, arguments);
  CHECK(Near(session.Floats(mask), {1, 1, 1, 0}));
  const Value loss = ReduceLoss(losses, {.example_weight = mask}, LossReduction::kSumOverBatchSize);
  CHECK(session.Float(loss) == doctest::Approx(0.8365088));
}

TEST_CASE("a function has the arguments that it has in Keras") {
  CHECK(KerasTakes("huber", "delta"));
  CHECK_FALSE(KerasTakes("mean_squared_error", "delta"));
  CHECK_FALSE(KerasTakes("sparse_categorical_crossentropy", "label_smoothing"));
  CHECK(KerasTakes("Recall", "top_k"));
  CHECK_FALSE(KerasTakes("TruePositives", "top_k"));
  CHECK_FALSE(KerasTakes("AUC", "no_such_argument"));
}

}  // namespace
}  // namespace tpuest::nn
