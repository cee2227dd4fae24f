#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

struct Predicted {
  std::vector<int64_t> indices;
  std::vector<size_t> keys;  // of each row
  PredictResult result;
};

Predicted Predict(Estimator& estimator, int64_t count, const PredictArgs& args = {}) {
  Predicted predicted;
  predicted.result = estimator.Predict(
      RangeInput({.count = count, .repeat = 1}), args, [&](const PredictionRow& row) {
        CHECK(row.index == static_cast<int64_t>(predicted.indices.size()));
        const Tensor& index = row.forwarded.at("id");
        for (int64_t i = 0; i < index.elements(); ++i) {
          predicted.indices.push_back(index.data<int64_t>()[i]);
        }
        predicted.keys.push_back(row.values.size());
        return true;
      });
  return predicted;
}

std::vector<int64_t> UpTo(int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

EstimatorOptions PredictOptions(const std::string& model_dir, int shards, int64_t batch) {
  EstimatorOptions options = Options(model_dir, shards, shards > 0 ? shards : 1);
  options.predict_batch_size = batch;
  return options;
}

}  // namespace

TEST_CASE("every example gives one row, in order, and padding gives none") {
  TemporaryFolder folder;
  for (const int shards : {0, 1, 2, 4}) {
    for (const int64_t batch : {1, 2, 4, 8}) {
      if (shards > 0 && batch % shards != 0) continue;
      Home home;
      Estimator estimator(LinearModel(), PredictOptions(folder.path(), shards, batch), home.get());
      for (int64_t count = 0; count <= 9; ++count) {
        CAPTURE(shards);
        CAPTURE(batch);
        CAPTURE(count);
        const Predicted predicted = Predict(estimator, count);
        CHECK(predicted.indices == UpTo(count));
        CHECK(predicted.result.examples == count);
        CHECK(predicted.result.stopped_because == "end of input");
      }
    }
  }
}

TEST_CASE("rows contain the trained model's predictions") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = PredictOptions(folder.path(), 2, 4);
  options.train_batch_size = 12;
  Estimator estimator(LinearModel(), options, home.get());
  estimator.Train(RangeInput({}), {.max_steps = 300});
  int64_t rows = 0;
  const PredictResult result = estimator.Predict(
      RangeInput({.repeat = 1}), {.predict_keys = {"y"}}, [&](const PredictionRow& row) {
        const double x = static_cast<double>(rows++) / 12;
        CHECK(row.values.at("y").shape() == Shape{1});
        CHECK(row.values.at("y").AsDouble(0) == doctest::Approx(2 * x + 1).epsilon(0.05));
        return true;
      });
  CHECK(rows == 12);
  CHECK(result.global_step == 300);
  CHECK(result.checkpoint == folder.File("model.ckpt-300"));
}

TEST_CASE("predict_keys select predictions, and unknown keys are refused") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), PredictOptions(folder.path(), 0, 2), home.get());
  CHECK(Predict(estimator, 1).keys == std::vector<size_t>{2});
  CHECK(Predict(estimator, 1, {.predict_keys = {"y", "other"}}).keys == std::vector<size_t>{1});
  const Error error = ErrorOf([&] { Predict(estimator, 1, {.predict_keys = {"other"}}); });
  CHECK(error.message() ==
        "Expected to run at least one output from ['index', 'y'], provided ['other'].");
  CHECK(error.faults()[0].key == "predict.predict_keys");
}

TEST_CASE("without yield_single_examples batches are returned whole") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), PredictOptions(folder.path(), 2, 4), home.get());
  std::vector<std::string> shapes;
  estimator.Predict(RangeInput({.count = 6, .repeat = 1}), {.yield_single_examples = false},
                    [&](const PredictionRow& batch) {
                      shapes.push_back(batch.values.at("y").shape().Text());
                      return true;
                    });
  CHECK(shapes == std::vector<std::string>{"[4,1]", "[2,1]"});
}

TEST_CASE("a limit counts examples") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), PredictOptions(folder.path(), 0, 4), home.get());
  for (const bool single : {true, false}) {
    const PredictArgs args{.yield_single_examples = single, .limit = 6};
    std::vector<int64_t> seen;
    const PredictResult result =
        estimator.Predict(RangeInput({}), args, [&](const PredictionRow& row) {
          const Tensor& index = row.values.at("index");
          for (const int64_t i : index.values<int64_t>()) seen.push_back(i);
          return true;
        });
    CHECK(seen == UpTo(6));
    CHECK(result.examples == 6);
    CHECK(result.stopped_because == "limit");
  }
}

TEST_CASE("a signal ends a prediction with its code") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), PredictOptions(folder.path(), 0, 4), home.get());
  const PredictResult result =
      estimator.Predict(RangeInput({}), {}, [&](const PredictionRow& /*row*/) {
        home.stop.Request(StopSignal::Kind::kInterrupted);
        return true;
      });
  CHECK(result.exit_code == 130);
  CHECK(result.stopped_because == "interrupted");
  CHECK(result.examples == 4);
}

TEST_CASE("without a checkpoint fresh variables predict, and the log says so") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), PredictOptions(folder.path(), 0, 4), home.get());
  CHECK(Predict(estimator, 3).result.checkpoint.empty());
  CHECK(home.Logged("running initialization to predict."));
}

TEST_CASE("four rows in batches of two are two batches, five are three; padding is not returned") {
  // Counts a hook's calls, one per batch.
  class Count final : public SessionRunHook {
   public:
    void AfterRun(RunContext& /*context*/, const RunValues& /*values*/) override { ++batches; }
    int batches = 0;
  };
  TemporaryFolder folder;
  for (const int shards : {0, 1, 2}) {
    CAPTURE(shards);
    Home home;
    Estimator estimator(LinearModel(), PredictOptions(folder.path(), shards, 2), home.get());
    Count four;
    CHECK(Predict(estimator, 4, {.hooks = {&four}}).indices == UpTo(4));
    CHECK(four.batches == 2);
    Count five;
    CHECK(Predict(estimator, 5, {.hooks = {&five}}).indices == UpTo(5));
    CHECK(five.batches == 3);
  }
}

TEST_CASE("predictions without rows are refused in TensorFlow's words") {
  TemporaryFolder folder;
  Home home;
  const auto with = [](const std::function<void(Graph&, TPUEstimatorSpec&)>& change) -> ModelFn {
    return [change](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
      TPUEstimatorSpec spec = LinearModel()(graph, inputs, mode, params);
      change(graph, spec);
      return spec;
    };
  };
  const EstimatorOptions options = PredictOptions(folder.path(), 0, 2);
  Estimator none(with([](Graph&, auto& spec) { spec.predictions.clear(); }), options, home.get());
  CHECK(ErrorOf([&] { Predict(none, 2); }).message() == "Missing predictions.");
  Estimator scalar(with([](Graph& graph, auto& spec) {
                     spec.predictions["bias"] = graph.template Scalar<float>(1);
                   }),
                   options, home.get());
  CHECK(ErrorOf([&] { Predict(scalar, 2); }).message() ==
        "Batch length of predictions should be same. bias has different batch length than others.");
  CHECK(Predict(scalar, 2, {.yield_single_examples = false}).indices == UpTo(2));
}

}  // namespace tpuest
