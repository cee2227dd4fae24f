// Five steps of tf.keras.optimizers.legacy (TensorFlow 2.15.1). DenseUpdates: f(w) = sum a w^2 / 2
// with a = (1, 2, 3), w = (1, -2, 0.5). By rows: sum c w[ids]^2 / 2 of a table [4, 2] that starts
// as 1 to 8; each step has three different ids, with duplicates, and rows that are absent.

#include "core/nn/optimizers/keras_optimizers.h"

#include <doctest/doctest.h>

#include "core/nn/optimizers/minimize.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

Value KerasBowl(Session& session, Value w) {
  const Value a = session.Const({3}, {1, 2, 3});
  return ops::Mul(ops::Sum(ops::Mul(a, ops::Square(w))), 0.5);
}

class DenseUpdates {
 public:
  explicit DenseUpdates(const KerasOptimizer& optimizer) {
    const Variable* const w = session_.AddVariable("w", {3}, {1, -2, 0.5F});
    const OptimizerPart part{optimizer, {}, ""};
    const TrainOp op = MinimizeParts(KerasBowl(session_, w->value), {&part, 1}, {});
    session_.Initialize();
    session_.Step(op.node, 5);
  }
  std::vector<float> operator[](const std::string& variable) { return session_.Floats(variable); }

 private:
  Session session_;
};

class TableRows {
 public:
  explicit TableRows(const KerasOptimizer& optimizer) {
    Graph& graph = session_.graph();
    const Variable* const w = session_.AddVariable("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Value ids = graph.Placeholder(DType::kInt32, Shape{kUnknownDim}, "ids");
    const Value c = session_.Const({3, 2}, {1, 2, 3, -0.5F, 0.5F, 0.25F});
    const Value rows = ops::GatherV2(w->value, ids);
    const Value loss = ops::Mul(ops::Sum(ops::Mul(c, ops::Square(rows))), 0.5);
    const OptimizerPart part{optimizer, {}, ""};
    const TrainOp op = MinimizeParts(loss, {&part, 1}, {.dense_gradients = false});
    session_.Initialize();
    const std::vector<std::vector<int32_t>> steps = {
        {1, 3, 1}, {0, 1, 0}, {3, 3, 3}, {1, 3, 1}, {2, 0, 1}};
    for (const std::vector<int32_t>& step : steps) {
      session_.Step(op.node, 1, {{ids, {Tensor::Of<int32_t>({3}, step)}}});
    }
  }
  std::vector<float> operator[](const std::string& variable) { return session_.Floats(variable); }

 private:
  Session session_;
};

TEST_CASE("steps of gradient descent") {
  const KerasOptimizer optimizer = SGD{.options = {.learning_rate = 0.1}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.590489984, -0.655359924, 0.0840349942}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.594999969, 1.62750006, 1.44138741, 2.45955944, 4.5, 4.80000019,
                         1.88650012, 7.27649975}));
}

TEST_CASE("momentum keeps the rate in its slot") {
  const KerasOptimizer optimizer = SGD{.options = {.learning_rate = 0.1}, .momentum = 0.9};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {-0.0291599631, 1.16084003, -0.38913998}));
  CHECK(Near(dense["training/SGD/w/momentum"], {-0.255959988, 0.543640018, -0.0677399859}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.459999979, 1.22249997, -1.01999998, 0.24707818, 4.5, 4.80000019,
                         -3.12200069, 6.65549994}));
  CHECK(Near(rows["training/SGD/w/momentum"], {-0.390000045, -0.327499986, -1.13999999, -1.0582968,
                                               -0.5, -1.20000005, -3.92700005, -0.634499907}));
}

TEST_CASE("Nesterov's momentum, at a rate that decays") {
  const KerasOptimizer optimizer =
      SGD{.options = {.learning_rate = 0.1, .decay = 0.5}, .momentum = 0.9, .nesterov = true};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.135695279, 0.723688602, -0.296033233}));
  CHECK(Near(dense["training/SGD/w/momentum"], {-0.156077176, 0.410905927, -0.0929365158}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.575100005, 1.23228323, -0.480793774, 0.147835076, 4.6833334, 5.23999977,
                         -2.06231475, 7.58823586}));
  CHECK(Near(rows["training/SGD/w/momentum"],
             {-0.171000004, -0.246166676, -0.730668306, -0.739292264, -0.166666672, -0.400000036,
              -2.31319189, -0.213296995}));
}

TEST_CASE("Adam, whose slots decay in every row") {
  const KerasOptimizer optimizer = Adam{.options = {.learning_rate = 0.1}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.507965326, -1.50295663, 0.0278155804}));
  CHECK(Near(dense["training/Adam/w/m"], {0.31959042, -1.4575007, 0.348274082}));
  CHECK(Near(dense["training/Adam/w/v"], {0.00329939346, 0.0650846735, 0.00498355646}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.753645897, 1.79274666, 2.57619452, 3.69231439, 4.94545126, 5.94545126,
                         6.59095764, 8.07837963}));
  CHECK(Near(rows["training/Adam/w/m"], {0.355634004, 0.23700273, 1.43024933, 1.31396389,
                                         0.500000119, 1.20000029, 5.69121647, 0.529858768}));
  CHECK(Near(rows["training/Adam/w/v"], {0.00830872636, 0.0210180022, 0.114116102, 0.15882951,
                                         0.0249996781, 0.143998146, 1.79257226, 0.236258209}));
}

TEST_CASE("RMSprop, whose slots decay in every row") {
  const KerasOptimizer optimizer = RMSprop{.options = {.learning_rate = 0.1}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.199795276, -1.04892731, 0.00217463356}));
  CHECK(Near(dense["training/RMSprop/w/rms"], {0.139562488, 3.74429822, 0.173842698}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.41553244, 1.75145757, 2.2351141, 3.49372697, 4.68377209, 5.68377209,
                         6.25918102, 8.09495926}));
  CHECK(Near(rows["training/RMSprop/w/rms"], {0.584815264, 1.54710245, 7.35455084, 12.0479145,
                                              2.50000048, 14.4000034, 135.552521, 19.6490097}));
}

TEST_CASE("centered RMSprop") {
  const KerasOptimizer optimizer = RMSprop{.options = {.learning_rate = 0.1}, .centered = true};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.146374732, -0.933679998, 0.00077315676}));
  CHECK(Near(dense["training/RMSprop/w/rms"], {0.129848585, 3.55233693, 0.168081298}));
  CHECK(Near(dense["training/RMSprop/w/mg"], {0.203084916, -1.17818999, 0.152839035}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.374416411, 1.73503292, 2.16933227, 3.45902896, 4.66666651, 5.66666651,
                         6.1912961, 8.10356712}));
  CHECK(Near(rows["training/RMSprop/w/rms"], {0.564025223, 1.54566967, 7.24411058, 11.9908991,
                                              2.50000048, 14.4000034, 134.721512, 19.7225151}));
  CHECK(Near(rows["training/RMSprop/w/mg"], {0.309350103, 0.244716689, 1.30776095, 1.30029869,
                                             0.500000119, 1.20000029, 5.52823925, 0.558037281}));
}

TEST_CASE("RMSprop with momentum does not change absent rows") {
  const KerasOptimizer optimizer = RMSprop{.options = {.learning_rate = 0.1}, .momentum = 0.5};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {-0.13130936, -0.479890168, -0.00030926615}));
  CHECK(Near(dense["training/RMSprop/w/rms"], {0.110227957, 2.97958803, 0.207279935}));
  CHECK(Near(dense["training/RMSprop/w/momentum"], {0.0536408685, -0.220849216, -0.0997345299}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.265829533, 1.58684206, 1.71175027, 3.1686821, 4.68377209, 5.68377209,
                         5.89898348, 8.181427}));
  CHECK(Near(rows["training/RMSprop/w/rms"], {0.6232903, 1.89337766, 7.84017229, 12.1286364,
                                              2.50000048, 14.4000034, 152.428833, 22.0261803}));
  CHECK(Near(rows["training/RMSprop/w/momentum"],
             {0.417942792, 0.0969302952, 0.200944901, 0.157136351, 0.316227734, 0.316227734,
              0.363036513, -0.0130816773}));
}

TEST_CASE("centered RMSprop with momentum") {
  const KerasOptimizer optimizer =
      RMSprop{.options = {.learning_rate = 0.1}, .momentum = 0.5, .centered = true};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {-0.156413749, -0.342873216, 0.00830866396}));
  CHECK(Near(dense["training/RMSprop/w/rms"], {0.106849194, 2.80761313, 0.208975509}));
  CHECK(Near(dense["training/RMSprop/w/momentum"], {0.0313791782, -0.242396578, -0.103767946}));
  CHECK(Near(dense["training/RMSprop/w/mg"], {0.127793297, -0.989414811, 0.0306869112}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.214366078, 1.56231284, 1.60549521, 3.11272383, 4.66666651, 5.66666651,
                         5.80328035, 8.19928169}));
  CHECK(Near(rows["training/RMSprop/w/rms"], {0.602500319, 1.89194489, 7.71708298, 12.0453882,
                                              2.50000048, 14.4000034, 151.409805, 22.1116867}));
  CHECK(Near(rows["training/RMSprop/w/momentum"],
             {0.452300727, 0.104353853, 0.220835507, 0.168836445, 0.333333313, 0.333333313,
              0.405028045, -0.0137858987}));
  CHECK(Near(rows["training/RMSprop/w/mg"], {0.335000128, 0.321666718, 1.36336052, 1.31219292,
                                             0.500000119, 1.20000029, 6.26349354, 0.579225361}));
}

TEST_CASE("Adagrad") {
  const KerasOptimizer optimizer = Adagrad{.options = {.learning_rate = 0.1}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.705608785, -1.68729889, 0.225870371}));
  CHECK(Near(dense["training/Adagrad/w/accumulator"], {3.79627705, 68.5425568, 6.21872282}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.815139174, 1.92085576, 2.7590611, 3.84453797, 4.90019941, 5.9000349,
                         6.76928711, 8.02968407}));
  CHECK(Near(rows["training/Adagrad/w/accumulator"],
             {9.6748848, 21.2527332, 115.75856, 163.671036, 25.1000004, 144.100006, 1823.47144,
              233.029053}));
}

TEST_CASE("Ftrl with both penalties and beta") {
  const KerasOptimizer optimizer = Ftrl{
      .options = {.learning_rate = 0.1},
      .ftrl = {
          .l1_regularization_strength = 0.01, .l2_regularization_strength = 0.02, .beta = 0.3}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.357831985, -1.42988586, 0.136283681}));
  CHECK(Near(dense["training/Ftrl/w/accumulator"], {1.81712019, 54.0900955, 3.83163285}));
  CHECK(Near(dense["training/Ftrl/w/linear"], {-5.92140579, 109.519196, -3.09199476}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.513816714, 1.66557705, 2.38763404, 3.58369923, 4.32214022, 5.60007286,
                         6.56905699, 6.87545538}));
  CHECK(
      Near(rows["training/Ftrl/w/accumulator"], {5.37930489, 21.0295677, 92.3007812, 152.875122,
                                                 25.1000004, 144.100006, 1743.45007, 175.456818}));
  CHECK(Near(rows["training/Ftrl/w/linear"], {-13.4891243, -81.4533997, -236.656265, -454.002655,
                                              -229.68811, -689.276306, -2762.86621, -931.634949}));
}

TEST_CASE("Ftrl shrinks the rows that it touches") {
  const KerasOptimizer optimizer = Ftrl{.options = {.learning_rate = 0.1},
                                        .ftrl = {.l2_shrinkage_regularization_strength = 0.05}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.422062904, -1.52243268, 0.147204742}));
  CHECK(Near(dense["training/Ftrl/w/accumulator"], {2.19571781, 59.5254135, 4.31881046}));
  CHECK(Near(dense["training/Ftrl/w/linear"], {-6.25410891, 117.459808, -3.05917192}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.606330037, 1.77089322, 2.53655338, 3.69035149, 4.57462168, 5.73697758,
                         6.65775299, 7.36903429}));
  CHECK(
      Near(rows["training/Ftrl/w/accumulator"], {6.62674665, 21.1205444, 101.90847, 157.490921,
                                                 25.1000004, 144.100006, 1779.91943, 199.541916}));
  CHECK(Near(rows["training/Ftrl/w/linear"], {-15.6084318, -81.3851013, -256.064362, -463.12207,
                                              -229.18811, -688.676331, -2808.84546, -1040.9447}));
}

TEST_CASE("gradients are clipped by value") {
  const KerasOptimizer optimizer = SGD{.options = {.learning_rate = 0.1, .clipvalue = 0.7}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.650000036, -1.64999974, 0.154000014}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.810000002, 1.95000005, 2.5800004, 3.72000027, 4.92999983, 5.92999983,
                         6.64999914, 8.06999969}));
}

TEST_CASE("gradients are clipped by their norm, rows before duplicates are summed") {
  const KerasOptimizer optimizer = SGD{.options = {.learning_rate = 0.1, .clipnorm = 0.7}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.917288482, -1.68027866, 0.384133756}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.974179447, 1.97387552, 2.9030838, 3.95368457, 4.97404766, 5.93771458,
                         6.79410648, 7.98906374}));
}

TEST_CASE("gradients are clipped by their norm together") {
  const KerasOptimizer optimizer = SGD{.options = {.learning_rate = 0.1, .global_clipnorm = 0.7}};
  DenseUpdates dense(optimizer);
  CHECK(Near(dense["w"], {0.917288482, -1.68027866, 0.384133756}));
  TableRows rows(optimizer);
  CHECK(Near(rows["w"], {0.974179447, 1.97387552, 2.9030838, 3.95368457, 4.97404766, 5.93771458,
                         6.79410648, 7.98906374}));
}

// ---- parts --------------------------------------------------------------------------------------

// A model of two scopes, and a variable outside both.
class Parts {
 public:
  Parts(const KerasOptimizer& dnn, const KerasOptimizer& linear, int heads = 1) {
    const Variable* const a = session_.AddVariable("dnn/a", {}, {1});
    const Variable* const b = session_.AddVariable("linear/b", {}, {2});
    const Variable* const other = session_.AddVariable("linear_other", {}, {3});
    const Value sum = ops::AddV2(ops::AddV2(a->value, b->value), other->value);
    const OptimizerPart parts[] = {{dnn, 0.5, "dnn"}, {linear, 0.25, "linear"}};
    const TrainOp op = MinimizeParts(sum, parts, {.heads = heads});
    session_.Initialize();
    rate_ = session_.Float(op.learning_rate);
    session_.Step(op.node, 2);
  }
  float operator[](const std::string& variable) { return session_.Floats(variable)[0]; }
  [[nodiscard]] float rate() const { return rate_; }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : session_.variables().tensors()) names.push_back(name);
    return names;
  }

 private:
  Session session_;
  float rate_ = 0;
};

TEST_CASE("with two heads the optimizers' numbers and slots are named training_2/...") {
  Parts parts(Adagrad{}, Ftrl{}, 2);
  CHECK(parts["training_2/Ftrl/iter"] == 2);
  CHECK(parts["training_2/Adagrad/learning_rate"] == 0.5F);
  CHECK(parts["training_2/Ftrl/linear/b/accumulator"] > 2);
  for (const std::string& name : parts.Names()) CHECK(!name.starts_with("training/"));
}

TEST_CASE("each part of a model is trained by its optimizer; the second counts its own steps") {
  Parts parts(SGD{}, SGD{});
  CHECK(parts["dnn/a"] == 1 - 2 * 0.5F);
  CHECK(parts["linear/b"] == 2 - 2 * 0.25F);
  CHECK(parts["linear_other"] == 3 - 2 * 0.5F);  // in no scope: with the first part
  CHECK(parts["global_step"] == 2);
  CHECK(parts["training/SGD_1/iter"] == 2);
  CHECK(parts.rate() == 0.5F);
  CHECK(parts.Names() == std::vector<std::string>{
                             "dnn/a", "global_step", "linear/b", "linear_other",
                             "training/SGD/decay", "training/SGD/learning_rate",
                             "training/SGD/momentum", "training/SGD_1/decay", "training/SGD_1/iter",
                             "training/SGD_1/learning_rate", "training/SGD_1/momentum"});
}

TEST_CASE("slots and hyperparameters have the names of TensorFlow's premade estimators") {
  Parts parts(Adagrad{}, Ftrl{.options = {.learning_rate = 0.2}});
  CHECK(parts.Names() ==
        std::vector<std::string>{
            "dnn/a", "global_step", "linear/b", "linear_other", "training/Adagrad/decay",
            "training/Adagrad/dnn/a/accumulator", "training/Adagrad/learning_rate",
            "training/Adagrad/linear_other/accumulator", "training/Ftrl/beta",
            "training/Ftrl/decay", "training/Ftrl/iter", "training/Ftrl/l1_regularization_strength",
            "training/Ftrl/l2_regularization_strength", "training/Ftrl/learning_rate",
            "training/Ftrl/learning_rate_power", "training/Ftrl/linear/b/accumulator",
            "training/Ftrl/linear/b/linear"});
  CHECK(parts["training/Adagrad/learning_rate"] == 0.5F);
  CHECK(parts["training/Ftrl/learning_rate"] == 0.2F);
}

TEST_CASE("Adam and RMSprop save their hyperparameters, and a schedule saves no learning_rate") {
  const LearningRate schedule =
      ExponentialDecay{.learning_rate = 0.1, .decay_steps = {.value = 10}, .decay_rate = 0.5};
  Parts parts(Adam{}, RMSprop{.options = {.learning_rate = schedule}});
  CHECK(parts.Names() ==
        std::vector<std::string>{
            "dnn/a", "global_step", "linear/b", "linear_other", "training/Adam/beta_1",
            "training/Adam/beta_2", "training/Adam/decay", "training/Adam/dnn/a/m",
            "training/Adam/dnn/a/v", "training/Adam/learning_rate", "training/Adam/linear_other/m",
            "training/Adam/linear_other/v", "training/RMSprop/decay", "training/RMSprop/iter",
            "training/RMSprop/linear/b/rms", "training/RMSprop/momentum", "training/RMSprop/rho"});
}

TEST_CASE("without a rate in the job or the model it is Keras's") {
  Session session;
  const Variable* const w = session.AddVariable("w", {3}, {1, -2, 0.5F});
  const KerasOptimizer optimizer = SGD{};
  const OptimizerPart part{optimizer, {}, ""};
  const TrainOp op = MinimizeParts(KerasBowl(session, w->value), {&part, 1}, {});
  session.Initialize();
  CHECK(session.Float(op.learning_rate) == 0.01F);
}

// ---- threads ------------------------------------------------------------------------------------

// Tables of a model with several columns, after three steps with many ids.
std::vector<std::vector<float>> Tables(int threads) {
  constexpr int kColumns = 3;
  constexpr int64_t kRows = 500;
  constexpr int64_t kIds = 9000;
  Session session(1, 1, threads);
  Graph& graph = session.graph();
  std::vector<Feed> feeds;
  Value sum;
  for (int c = 0; c < kColumns; ++c) {
    const Variable* const table =
        session.AddVariable("table_" + std::to_string(c), {kRows, 1}, std::vector<float>(kRows));
    const Value ids = graph.Placeholder(DType::kInt64, Shape{kUnknownDim}, "ids");
    Tensor numbers(DType::kInt64, {kIds});
    for (int64_t i = 0; i < kIds; ++i) {
      numbers.data<int64_t>()[i] = i * i * (c + 3) % 601 % kRows;
    }
    feeds.push_back({ids, {numbers}});
    const Value rows = ops::GatherV2(table->value, ids);
    sum = sum.valid() ? ops::AddV2(sum, rows) : rows;
  }
  const Value loss = ops::Mean(ops::Square(ops::Sub(sum, 1.0)));
  const KerasOptimizer optimizer = Ftrl{.options = {.learning_rate = 0.5}};
  const OptimizerPart part{optimizer, {}, ""};
  const TrainOp op = MinimizeParts(loss, {&part, 1}, {.dense_gradients = false});
  session.Initialize();
  session.Step(op.node, 3, feeds);
  std::vector<std::vector<float>> tables;
  for (int c = 0; c < kColumns; ++c) {
    tables.push_back(session.Floats("table_" + std::to_string(c)));
  }
  return tables;
}

TEST_CASE("threads that share the columns' updates do not change any bit") {
  const std::vector<std::vector<float>> one = Tables(1);
  CHECK(Tables(2) == one);
  CHECK(Tables(3) == one);
}

TEST_CASE("many rows of one element are updated as a whole variable is") {
  constexpr int64_t kRows = 45;
  std::vector<std::vector<float>> results;
  for (const bool dense : {true, false}) {
    Session session;
    std::vector<float> first;
    std::vector<int32_t> ids;
    for (int i = 0; i < kRows; ++i) {
      first.push_back(0.1F * static_cast<float>(i) - 2);
      ids.push_back(i * 7 % kRows);
    }
    const Variable* const w = session.AddVariable("w", {kRows, 1}, first);
    const Value rows = ops::GatherV2(w->value, session.Ints({kRows}, ids));
    const KerasOptimizer optimizer = Adagrad{.options = {.learning_rate = 0.1}};
    const OptimizerPart part{optimizer, {}, ""};
    const TrainOp op =
        MinimizeParts(ops::Sum(ops::Square(rows)), {&part, 1}, {.dense_gradients = dense});
    session.Initialize();
    session.Step(op.node, 3);
    results.push_back(session.Floats("w"));
  }
  CHECK(Near(results[1], std::vector<double>(results[0].begin(), results[0].end())));
}

// ---- arguments ----------------------------------------------------------------------------------

std::string MessageOf(const KerasOptimizer& optimizer) {
  Session session;
  const Variable* const w = session.AddVariable("w", {3}, {1, -2, 0.5F});
  const OptimizerPart part{optimizer, {}, ""};
  try {
    (void)MinimizeParts(KerasBowl(session, w->value), {&part, 1}, {});
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("Keras's arguments out of range are refused in its words") {
  CHECK(MessageOf(Ftrl{.ftrl = {.learning_rate_power = 0.5}}) ==
        "`learning_rate_power` needs to be negative or zero. Received: learning_rate_power=0.5.");
  CHECK(MessageOf(Ftrl{.ftrl = {.l1_regularization_strength = -1}}) ==
        "`l1_regularization_strength` needs to be positive or zero. Received: "
        "l1_regularization_strength=-1.");
  CHECK(MessageOf(SGD{.momentum = 1.5}) ==
        "`momentum` must be between [0, 1]. Received: momentum=1.5.");
  CHECK(MessageOf(Adagrad{.initial_accumulator_value = -1}) ==
        "initial_accumulator_value must be non-negative: -1");
  CHECK(MessageOf(Adam{.options = {.clipvalue = -1}}) == "Expected clipvalue >= 0, received: -1");
  CHECK(MessageOf(Adam{.options = {.clipnorm = 1, .global_clipnorm = 2}}) ==
        "Cannot accept both `clipnorm` and `global_clipnorm`. Received: `clipnorm`=1, "
        "`global_clipnorm`=2.");
}

}  // namespace
}  // namespace tpuest::nn
