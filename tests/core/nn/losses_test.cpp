// Losses computed by TensorFlow 2.15.

#include "core/nn/losses.h"

#include <doctest/doctest.h>

#include "core/graph/gradient.h"
#include "core/ops/reduction.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

TEST_CASE("softmax cross entropy, plain and smoothed") {
  Session session;
  const Value logits = session.Const({2, 3}, {1, 2, 0.5F, 0, -1, 3});
  const Value labels = session.Ints({2, 1}, {1, 0});
  const Value losses = SparseSoftmaxCrossEntropy(logits, labels);
  CHECK(losses.shape() == Shape{2, 1});
  CHECK(Near(session.Floats(losses), {0.46436879, 3.06588387}));
  CHECK(Near(session.Floats(SparseSoftmaxCrossEntropy(logits, labels, 0.3)),
             {0.71436882, 2.86588383}));
}

TEST_CASE("sigmoid cross entropy does not overflow, and its gradient at 0 is 1/2 - z") {
  Session session;
  const Value logits = session.Const({4, 1}, {-2, 0, 3, 45});
  const Value labels = session.Const({4, 1}, {1, 0.25F, 0, 1});
  const Value losses = SigmoidCrossEntropy(logits, labels);
  CHECK(Near(session.Floats(losses), {2.12692809, 0.693147182, 3.04858732, 0}));
  const std::vector<Value> xs = {logits};
  const Value gradient = std::get<Value>(Gradients(ops::Sum(losses), xs)[0]);
  CHECK(Near(session.Floats(gradient), {-0.880797088, 0.25, 0.952574134, 0}));
}

float Reduced(const std::string& reduction, bool weighted, bool padded) {
  Session session;
  const Value losses = session.Const({4, 1}, {2, 4, 6, 100});
  const Value weights = weighted ? session.Const({4, 1}, {1, 0, 2, 1}) : Value{};
  const Value real = padded ? session.Const({4, 1}, {1, 1, 1, 0}) : Value{};
  return session.Float(ReduceLoss(losses, {weights, real, 1}, ParseLossReduction(reduction)));
}

TEST_CASE("reductions divide by what TensorFlow divides by") {
  CHECK(Reduced("SUM", false, false) == 112);
  CHECK(Reduced("SUM_OVER_BATCH_SIZE", false, false) == 28);
  CHECK(Reduced("SUM", true, false) == 114);
  CHECK(Reduced("SUM_OVER_BATCH_SIZE", true, false) == 28.5F);  // by 4 elements
  CHECK(Reduced("MEAN", true, false) == 28.5F);                 // by 4, the sum of weights
  CHECK(Reduced("SUM_BY_NONZERO_WEIGHTS", true, false) == 38);  // by 3
  CHECK(Reduced("SUM_OVER_NONZERO_WEIGHTS", true, false) == 38);
  CHECK(Reduced("sum_over_batch_size", false, false) == 28);
}

TEST_CASE("padding counts neither in the numerator nor in the denominator") {
  CHECK(Reduced("SUM", false, true) == 12);
  CHECK(Reduced("SUM_OVER_BATCH_SIZE", false, true) == 4);
  CHECK(Reduced("MEAN", false, true) == 4);
  CHECK(Reduced("SUM_OVER_BATCH_SIZE", true, true) == doctest::Approx(14.0 / 3));
  CHECK(Reduced("MEAN", true, true) == doctest::Approx(14.0 / 3));
  CHECK(Reduced("SUM_BY_NONZERO_WEIGHTS", true, true) == 7);
}

TEST_CASE("replicas with unequal padding agree on the mean over all examples") {
  Session session(2);
  const Value losses = session.graph().Placeholder(DType::kFloat, Shape{2, 1}, "losses");
  const Value real = session.graph().Placeholder(DType::kFloat, Shape{2, 1}, "real");
  const Value loss = ReduceLoss(losses, {{}, real, 2}, LossReduction::kSumOverBatchSize);
  const auto column = [](float a, float b) { return Tensor::Of<float>({2, 1}, {a, b}); };
  const auto values = session.RunAll(
      {loss}, {}, {{losses, {column(1, 2), column(6, 100)}}, {real, {column(1, 1), column(1, 0)}}});
  CHECK(*values[0][0].data<float>() == 3);
  CHECK(*values[0][1].data<float>() == 3);
}

TEST_CASE("another name of a reduction is refused in TensorFlow's words") {
  CHECK_THROWS_WITH_AS((void)ParseLossReduction("NONE"),
                       "Invalid loss_reduction: NONE. See `tf.losses.Reduction` for valid options.",
                       Error);
}

}  // namespace
}  // namespace tpuest::nn
