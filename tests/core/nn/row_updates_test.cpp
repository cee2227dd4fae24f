// Steps on a table [4, 2] that starts as 1 to 8, looked up by lists of ids, as TensorFlow 2.15
// makes them with safe_embedding_lookup_sparse: each step has three examples, some without an id.

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

// The numbers by which the three looked-up rows are weighed in a loss.
Value Factors(Session& session) { return session.Const({3, 2}, {1, 2, 3, -0.5F, 0.5F, 0.25F}); }

// The loss of a step: `c` are the factors, `look` combines the rows of some lists.
using LossOf = Value (*)(Session& session, const Ids& ids,
                         const std::function<Value(const Ids&, const std::string&)>& look);

Value SumOfMeans(Session& session, const Ids& ids,
                 const std::function<Value(const Ids&, const std::string&)>& look) {
  return ops::Sum(ops::Mul(Factors(session), look(ids, "mean")));
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
  // One id at most an example.
  LookedUp single(Momentum(), {{{0}, {1}, {2}}, {{}, {1}, {}}}, SumOfMeans);
  CHECK(Near(single["w"], {0.8100000023841858, 1.6200000047683716, 2.130000114440918,
                           4.144999980926514, 4.949999809265137, 5.974999904632568, 7, 8}));
}

TEST_CASE("Ftrl forgets row 0 where an example has no id") {
  LookedUp rows(Ftrl{.options = {.learning_rate = 0.1}}, {kWithGaps[1]}, SumOfMeans);
  CHECK(Near(rows["w"], {0, 0, 2.1672868728637695, 3.3123204708099365, 5, 6, 1.4467309713363647,
                         0.5233908295631409}));
}

TEST_CASE("a gradient made dense, as on a TPU, does not tell row 0 from the others") {
  LookedUp rows(Momentum(), {kWithGaps[1]}, SumOfMeans, /*dense=*/true);
  CHECK(rows["w"][0] == 1);
  CHECK(rows["w"][4] == 5);
}

}  // namespace
}  // namespace tpuest::nn
