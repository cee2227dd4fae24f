// Steps on a table [4, 2] that starts as 1 to 8 and is looked up by lists of ids, with the numbers
// of TensorFlow 2.15's safe_embedding_lookup_sparse. Each step has three examples, some without
// ids.

#include <doctest/doctest.h>

#include "core/nn/columns/column_values.h"
#include "core/nn/optimizers/minimize.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

using Ids = std::vector<std::vector<int64_t>>;

// The weights of the three looked-up rows in a loss.
Value Factors(Session& session) { return session.Const({3, 2}, {1, 2, 3, -0.5F, 0.5F, 0.25F}); }

// The loss of a step: `c` are the factors, `look` combines the rows of some lists.
using LossOf = Value (*)(Session& session, const Ids& ids,
                         const std::function<Value(const Ids&, const std::string&)>& look);

Value SumOfMeans(Session& session, const Ids& ids,
                 const std::function<Value(const Ids&, const std::string&)>& look) {
  return ops::Sum(ops::Mul(Factors(session), look(ids, "mean")));
}

Value SumOfSquares(Session& session, const Ids& ids,
                   const std::function<Value(const Ids&, const std::string&)>& look) {
  return ops::Mul(ops::Sum(ops::Mul(Factors(session), ops::Square(look(ids, "sum")))), 0.5);
}

// A second lookup of the same table, with the first two examples swapped.
Value OfTwoLookups(Session& session, const Ids& ids,
                   const std::function<Value(const Ids&, const std::string&)>& look) {
  const Value other = look({ids[1], ids[0], ids[2]}, "sum");
  return ops::AddV2(SumOfSquares(session, ids, look), ops::Sum(ops::Mul(Factors(session), other)));
}

// The table and its slots after steps by an optimizer.
class LookedUp {
 public:
  LookedUp(const PremadeOptimizer& optimizer, const std::vector<Ids>& steps, LossOf loss_of,
           bool dense = false) {
    const Variable* const w = session_.AddVariable("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    std::vector<Node*> trains;
    for (const Ids& ids : steps) {
      const auto look = [&](const Ids& lists, const std::string& combiner) {
        return CombinedRows(*w, Listed(lists), {.combiner = combiner, .trains = true});
      };
      const OptimizerPart part{ByFamily(optimizer), {}, ""};
      trains.push_back(
          MinimizeParts(loss_of(session_, ids, look), {&part, 1}, {.dense_gradients = dense}).node);
    }
    session_.Initialize();
    for (Node* const train : trains) session_.Step(train);
  }
  std::vector<float> operator[](const std::string& variable) { return session_.Floats(variable); }

 private:
  Categories Listed(const Ids& lists) {
    size_t longest = 1;
    for (const auto& list : lists) longest = std::max(longest, list.size());
    std::vector<int64_t> ids;
    for (const auto& list : lists) {
      ids.insert(ids.end(), list.begin(), list.end());
      ids.insert(ids.end(), longest - list.size(), -1);
    }
    const Shape shape({static_cast<int64_t>(lists.size()), static_cast<int64_t>(longest)});
    Categories categories{.ids = session_.graph().Constant(Tensor::Of<int64_t>(shape, ids))};
    categories.there = ops::NotEqual(categories.ids, session_.graph().Scalar<int64_t>(-1));
    return categories;
  }

  Session session_;
};

const std::vector<Ids> kWithGaps = {{{0}, {1}, {2}}, {{1}, {}, {3, 1}}, {{}, {2}, {2, 1, 1}}};
const std::vector<Ids> kRepeated = {{{1, 1, 2}, {1}, {3}}, {{2}, {2, 2}, {1}}};

SGD Momentum() { return {.options = {.learning_rate = 0.1}, .momentum = 0.9}; }

TEST_CASE("an example without an id touches row 0, which momentum moves") {
  LookedUp rows(Momentum(), kWithGaps, SumOfMeans);
  CHECK(Near(rows["w"],
             {0.7290000319480896, 1.4580000638961792, 1.9161667823791504, 3.715083599090576,
              4.5883331298828125, 5.994166374206543, 6.974999904632568, 7.987500190734863}));
  CHECK(Near(
      rows["training/SGD/w/momentum"],
      {-0.08099999278783798, -0.16199998557567596, -0.38883334398269653, -0.16741666197776794,
       -0.3616666793823242, 0.019166668877005577, -0.02500000037252903, -0.012500000186264515}));
  // At most one id per example.
  LookedUp single(Momentum(), {{{0}, {1}, {2}}, {{}, {1}, {}}}, SumOfMeans);
  CHECK(Near(single["w"], {0.8100000023841858, 1.6200000047683716, 2.130000114440918,
                           4.144999980926514, 4.949999809265137, 5.974999904632568, 7, 8}));
}

TEST_CASE("Ftrl forgets row 0 where an example has no id") {
  LookedUp rows(Ftrl{.options = {.learning_rate = 0.1}}, {kWithGaps[1]}, SumOfMeans);
  CHECK(Near(rows["w"], {0, 0, 2.1672868728637695, 3.3123204708099365, 5, 6, 1.4467309713363647,
                         0.5233908295631409}));
}

TEST_CASE("every optimizer of Keras has row 0 where an example has no id") {
  const KerasOptions rate{.learning_rate = 0.1};
  const std::vector<std::pair<PremadeOptimizer, std::vector<double>>> cases = {
      {SGD{.options = rate},
       {0.8999999762, 1.7999999523, 2.5416667461, 3.8208334446, 4.6333332062, 6.0166664124,
        6.9749999046, 7.9875001907}},
      {SGD{.options = rate, .momentum = 0.9, .nesterov = true},
       {0.6561000347, 1.3122000694, 1.566216469, 3.5644080639, 4.2628335953, 6.0114164352,
        6.9524998665, 7.9762501717}},
      {RMSprop{.options = rate},
       {0.6837723255, 1.6837723255, 2.5210893154, 3.9821624756, 4.3706903458, 5.9620227814,
        6.6837725639, 7.6837730408}},
      {RMSprop{.options = rate, .momentum = 0.5},
       {0.4466017783, 1.4466016293, 2.2203366756, 4.0650162697, 4.2129211426, 5.8004865646,
        6.6837749481, 7.6837825775}},
      {RMSprop{.options = rate, .momentum = 0.5, .centered = true},
       {0.4166670144, 1.4166667461, 2.1693365574, 4.0797386169, 4.1651759148, 5.7770519257,
        6.6666698456, 7.6666784286}},
      {RMSprop{.options = rate, .centered = true},
       {0.6666668057, 1.6666667461, 2.4887714386, 3.9888353348, 4.3320260048, 5.9478073120,
        6.6666669846, 7.6666674614}},
      {Adagrad{.options = rate},
       {0.904653728, 1.9012269974, 2.8521146774, 3.9806451797, 4.8171854019, 6.0098524094,
        6.9379825592, 7.963239193}},
      {Adam{.options = rate},
       {0.7811992764, 1.7811988592, 2.7334213257, 3.9940278530, 4.7618236542, 5.8611593246,
        6.8680663109, 7.8680677414}},
      {Ftrl{.options = rate},
       {0.6031423807, 1.5888795853, 2.5376296043, 1.842554927, 2.1445727348, 1.3030655384,
        1.4467309713, 0.5233908296}},
      {Ftrl{.options = rate,
            .ftrl = {.l1_regularization_strength = 0.05,
                     .l2_shrinkage_regularization_strength = 0.1}},
       {0.5574225783, 1.5358598232, 2.4850773811, 1.6672531366, 1.9542677402, 0.9612025619,
        1.0870301723, 0.038149178}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    LookedUp rows(cases[i].first, kWithGaps, SumOfMeans);
    CHECK(Near(rows["w"], cases[i].second));
  }
}

TEST_CASE("a dense gradient, as on a TPU, does not distinguish row 0 from other rows") {
  LookedUp rows(Momentum(), {kWithGaps[1]}, SumOfMeans, /*dense=*/true);
  CHECK(rows["w"][0] == 1);
  CHECK(rows["w"][4] == 5);
}

TEST_CASE("tf.train's momentum moves the rows that the batch has") {
  LookedUp plain(MomentumOptimizer{.learning_rate = 0.1, .momentum = 0.9}, kWithGaps, SumOfMeans);
  CHECK(Near(plain["w"],
             {0.7290000319480896, 1.4580000638961792, 1.9161667823791504, 3.715083599090576,
              4.5883331298828125, 5.994166374206543, 6.974999904632568, 7.987500190734863}));
  CHECK(Near(plain["w/Momentum"],
             {0.809999942779541, 1.619999885559082, 3.8883330821990967, 1.6741665601730347,
              3.616666793823242, -0.19166666269302368, 0.25, 0.125}));
  LookedUp nesterov(MomentumOptimizer{.learning_rate = 0.1, .momentum = 0.9, .use_nesterov = true},
                    kWithGaps, SumOfMeans);
  CHECK(Near(nesterov["w"],
             {0.6561000347137451, 1.3122000694274902, 1.5662168264389038, 3.56440806388855,
              4.262833595275879, 6.011416435241699, 6.952499866485596, 7.976250171661377}));
}

TEST_CASE("tf.train's RMSProp moves the rows that the batch has") {
  LookedUp plain(RMSPropOptimizer{.learning_rate = 0.1, .momentum = 0.5}, kWithGaps, SumOfMeans);
  CHECK(Near(plain["w"],
             {0.824999988079071, 1.6930296421051025, 2.44173002243042, 3.794201374053955,
              4.688268661499023, 6.006260871887207, 6.973738670349121, 7.986835479736328}));
  CHECK(Near(plain["w/RMSProp"],
             {0.809999942779541, 1.0530000925064087, 1.6097362041473389, 1.1584340333938599,
              1.835278034210205, 0.832986056804657, 0.90625, 0.9015624523162842}));
  LookedUp centered(RMSPropOptimizer{.learning_rate = 0.1, .momentum = 0.5, .centered = true},
                    kWithGaps, SumOfMeans);
  CHECK(Near(centered["w"],
             {0.8241183757781982, 1.6881952285766602, 2.4236180782318115, 3.7910091876983643,
              4.6793599128723145, 6.0062575340271, 6.973729610443115, 7.9868340492248535}));
  CHECK(Near(
      centered["w/RMSProp_1"],
      {0.08100001513957977, 0.16200003027915955, 0.3888334035873413, 0.16741670668125153,
       0.3616667687892914, -0.019166670739650726, 0.025000005960464478, 0.012500002980232239}));
}

TEST_CASE("clipping sees the sum of each row that a lookup has") {
  const auto clipped = [](const KerasOptions& options, LossOf loss_of = SumOfSquares) {
    return LookedUp(SGD{.options = options}, kRepeated, loss_of)["w"];
  };
  CHECK(Near(clipped({.learning_rate = 0.1, .clipvalue = 2.5}),
             {1, 2, 2.612499952316284, 3.65625, 4.5, 5.75, 6.75, 7.800000190734863}));
  const std::vector<double> by_norm = {1,
                                       2,
                                       2.882521629333496,
                                       3.801422119140625,
                                       4.710389614105225,
                                       5.898945331573486,
                                       6.987368106842041,
                                       7.992781639099121};
  CHECK(Near(clipped({.learning_rate = 0.1, .clipnorm = 2.5}), by_norm));
  CHECK(Near(clipped({.learning_rate = 0.1, .global_clipnorm = 2.5}), by_norm));
  LookedUp together(
      GradientDescentOptimizer{.learning_rate = 0.1, .gradients = {.clip_by_global_norm = 2.5}},
      kRepeated, SumOfSquares);
  CHECK(Near(together["w"], by_norm));
  // A table that two columns share: rows of the two lookups are not added.
  CHECK(Near(clipped({.learning_rate = 0.1, .clipnorm = 2.5}, OfTwoLookups),
             {1, 2, 2.8562285900115967, 3.7980780601501465, 4.681666374206543, 5.8878278732299805,
              6.985652446746826, 7.991929054260254}));
}

}  // namespace
}  // namespace tpuest::nn
