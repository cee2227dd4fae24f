#include <cmath>

#include "core/io/events/event_reader.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

EstimatorOptions EvalOptions(const std::string& model_dir, int shards, int64_t batch) {
  EstimatorOptions options = Options(model_dir, shards, shards > 0 ? shards : 1);
  options.eval_batch_size = batch;
  return options;
}

float Metric(const EvaluateResult& result, const std::string& name) {
  return *result.metrics.at(name).data<float>();
}

// The squared error of y = 0 against 2x + 1 at x = i / count.
double SquaredError(int64_t i, int64_t count) {
  const double label = 2.0 * static_cast<double>(i) / static_cast<double>(count) + 1;
  return label * label;
}

}  // namespace

TEST_CASE("every example counts once, for every batch size and number of replicas") {
  TemporaryFolder folder;
  for (const bool reads_weight : {false, true}) {
    for (const int shards : {0, 1, 2, 4}) {
      for (int64_t batch = 1; batch <= 8; ++batch) {
        if (shards > 0 && batch % shards != 0) continue;
        Home home;
        Estimator estimator(LinearModel({.reads_example_weight = reads_weight}),
                            EvalOptions(folder.path(), shards, batch), home.get());
        for (int64_t count = 1; count <= 12; ++count) {
          CAPTURE(reads_weight);
          CAPTURE(shards);
          CAPTURE(batch);
          CAPTURE(count);
          const EvaluateResult result =
              estimator.Evaluate(RangeInput({.count = count, .repeat = 1}));
          double sum = 0;
          double loss = 0;
          for (int64_t first = 0; first < count; first += batch) {
            const int64_t end = std::min(first + batch, count);
            double batch_sum = 0;
            for (int64_t i = first; i < end; ++i) batch_sum += SquaredError(i, count);
            sum += batch_sum;
            loss += batch_sum / static_cast<double>(end - first);
          }
          const int64_t batches = (count + batch - 1) / batch;
          const auto n = static_cast<double>(count);
          CHECK(result.examples == count);
          CHECK(result.batches == batches);
          CHECK(Metric(result, "average_loss") == doctest::Approx(sum / n));
          CHECK(Metric(result, "mean_x") == doctest::Approx((n - 1) / 2 / n));
          CHECK(Metric(result, "loss") == doctest::Approx(loss / static_cast<double>(batches)));
        }
      }
    }
  }
}

TEST_CASE("without a checkpoint fresh variables are evaluated, and the log says so") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), EvalOptions(folder.path(), 0, 4), home.get());
  const EvaluateResult result = estimator.Evaluate(RangeInput({.repeat = 1}));
  CHECK(result.global_step == 0);
  CHECK(result.checkpoint.empty());
  CHECK(home.Logged("Could not find trained model in model_dir: " + folder.path() +
                    ", running initialization to evaluate."));
}

TEST_CASE("the newest checkpoint is evaluated, or the one that is named") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = EvalOptions(folder.path(), 2, 4);
  options.run_config.save_checkpoints_steps = 10;
  Estimator estimator(LinearModel(), options, home.get());
  estimator.Train(RangeInput({}), {.max_steps = 30});
  const EvaluateResult newest = estimator.Evaluate(RangeInput({.repeat = 1}));
  CHECK(newest.global_step == 30);
  CHECK(newest.checkpoint == folder.File("model.ckpt-30"));
  const EvaluateResult first = estimator.Evaluate(
      RangeInput({.repeat = 1}), {.checkpoint = folder.File("model.ckpt-0"), .name = "start"});
  CHECK(first.global_step == 0);
  CHECK(Metric(first, "loss") > Metric(newest, "loss"));
  CHECK(estimator.Train(RangeInput({}), {.max_steps = 31}).global_step == 31);

  SUBCASE("events are in eval/ and eval_<name>/ at the checkpoint's step") {
    const std::vector<EventData> events = ReadEvents(EventFiles(folder.File("eval")).at(0));
    std::vector<std::string> tags;
    for (const EventData& event : events) {
      for (const SummaryValue& value : event.values) {
        CHECK(event.step == 30);
        tags.push_back(value.tag);
      }
    }
    CHECK(tags == std::vector<std::string>{"average_loss", "loss", "mean_x", "checkpoint_path"});
    CHECK(EventFiles(folder.File("eval_start")).size() == 1);
  }
  SUBCASE("metrics.jsonl has a line for each evaluation") {
    const std::string text = ReadFile(folder.File(".tpuest/metrics.jsonl"));
    CHECK(text.find(R"({"step":30,"eval":"eval","metrics":{"average_loss":)") != std::string::npos);
    CHECK(text.find(R"({"step":0,"eval":"start",)") != std::string::npos);
  }
  SUBCASE("a missing checkpoint is an error") {
    const Error error = ErrorOf([&] {
      (void)estimator.Evaluate(RangeInput({.repeat = 1}),
                               {.checkpoint = folder.File("model.ckpt-7")});
    });
    CHECK(error.code() == Code::kCheckpoint);
  }
}

TEST_CASE("steps limit an evaluation, and an endless input needs them") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), EvalOptions(folder.path(), 0, 4), home.get());
  const EvaluateResult result = estimator.Evaluate(RangeInput({}), {.steps = 5});
  CHECK(result.batches == 5);
  CHECK(result.examples == 20);
  CHECK(home.Logged("Evaluation [5/5]"));
  const Error error = ErrorOf([&] { (void)estimator.Evaluate(RangeInput({})); });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.faults()[0].key == "eval_spec.steps");
  CHECK(ErrorOf([&] { (void)estimator.Evaluate(RangeInput({}), {.steps = 0}); }).message() ==
        "Must specify steps > 0, given: 0");
  CHECK(estimator.Evaluate(RangeInput({.repeat = 1}), {.steps = 100}).batches == 3);
}

TEST_CASE("the line of results has its keys sorted, with global_step") {
  TemporaryFolder folder;
  Home home;
  // x = 0: label 1, loss 1.
  Estimator(LinearModel(), EvalOptions(folder.path(), 0, 1), home.get())
      .Evaluate(RangeInput({.count = 1, .repeat = 1}));
  CHECK(
      home.Logged("Saving dict for global step 0: average_loss = 1.0, global_step = 0, "
                  "loss = 1.0, mean_x = 0.0"));
}

TEST_CASE("an empty input cannot be evaluated") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), EvalOptions(folder.path(), 0, 1), home.get());
  CHECK(ErrorOf([&] { (void)estimator.Evaluate(RangeInput({.count = 0, .repeat = 1})); }).code() ==
        Code::kData);
}

TEST_CASE("a batch that does not divide evenly is refused in TensorFlow's words") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), EvalOptions(folder.path(), 4, 6), home.get());
  const Error error = ErrorOf([&] { (void)estimator.Evaluate(RangeInput({.repeat = 1})); });
  CHECK(error.message() == "eval batch size 6 must be divisible by number of replicas 4");
}

TEST_CASE("metrics cannot have names that Estimator uses itself") {
  TemporaryFolder folder;
  Home home;
  for (const char* const name : {"loss", "global_step"}) {
    const ModelFn model_fn = [name](Graph& graph, const ModelInputs& inputs, Mode mode,
                                    const Params& params) {
      TPUEstimatorSpec spec = LinearModel()(graph, inputs, mode, params);
      const MetricFn fn = spec.eval_metrics->fn;
      spec.eval_metrics->fn = [fn, name](Graph& g, const std::map<std::string, Value>& tensors) {
        std::map<std::string, MetricOps> metrics = fn(g, tensors);
        metrics[name] = metrics.at("mean_x");
        return metrics;
      };
      return spec;
    };
    Estimator estimator(model_fn, EvalOptions(folder.path(), 0, 4), home.get());
    const Error error = ErrorOf([&] { (void)estimator.Evaluate(RangeInput({.repeat = 1})); });
    CHECK(error.message().find("is not allowed, because Estimator already defines a default "
                               "metric with the same name.") != std::string::npos);
  }
}

}  // namespace tpuest
