// The step that training, a plan and a bench share: its results for batches and for batch sizes.

#include "core/estimator/step/train_step.h"

#include "core/estimator/checkpoint/variables.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

EstimatorOptions Resolved(EstimatorOptions options) {
  options.run_config.Resolve();
  return options;
}

// The linear model's step for batches of 2, on fresh variables, and a stream of 7 examples.
struct LinearStep {
  explicit LinearStep(int shards = 0)
      : context{.model_fn = LinearModel(),
                .options = Resolved(Options("nowhere", shards, 2)),
                .home = home.get(),
                .model_dir = {}} {
    InitializeVariables(*home.backend, *model->graph, Which::kAll, 1, variables);
  }

  [[nodiscard]] std::vector<InfeedItem> Items() {
    std::vector<InfeedItem> items;
    while (std::optional<Batch> batch = stream->Next()) items.push_back({.batch = *batch});
    return items;
  }
  // Reads from the stream's beginning.
  [[nodiscard]] Infeed Read() {
    stream->Seek({});
    return Infeed({.stream = *stream, .clock = home.clock, .stop = home.stop, .step = &step});
  }

  Home home;
  EstimatorContext context;
  VariableStore variables;
  std::unique_ptr<BatchStream> stream = RangeInput({.count = 7, .repeat = 1})({.batch_size = 2});
  std::shared_ptr<const BuiltModel> model = BuildTrainModel(context, stream->spec(), 2, false);
  TrainStep step{
      {.context = context, .variables = variables, .stream = stream->spec(), .model = model}};
};

}  // namespace

TEST_CASE(
    "a call runs the steps up to a batch of another size, for which the model is built again") {
  LinearStep linear;
  std::vector<InfeedItem> items = linear.Items();
  REQUIRE(items.size() == 4);
  const StepsMade whole = linear.step.Run(items, {});
  REQUIRE(whole.size() == 3);
  CHECK(whole.Values(0).loss == doctest::Approx(130.0 / 98));  // of 1 and 9/7, predicted as 0
  CHECK(!whole.Values(2).diverged);
  const StepsMade last = linear.step.Run(std::span(items).subspan(3), {});
  CHECK(last.size() == 1);
}

TEST_CASE("batches are prepared as they are read, once there is a program for them") {
  LinearStep linear;
  CHECK(linear.Read().Take(1).front().feeds.empty());
  linear.stream->Seek({});
  linear.step.ProgramFor(linear.step.ShapesOf(*linear.stream->Next()));
  Infeed infeed = linear.Read();
  std::vector<InfeedItem> items = infeed.Take(1);
  REQUIRE(!items.front().feeds.empty());
  CHECK(linear.step.Run(items, {}).size() == 1);
}

TEST_CASE("on TPU a batch of another size is refused before it is fed") {
  LinearStep linear(2);
  const std::vector<InfeedItem> items = linear.Items();
  CHECK(linear.step.Prepare(items[0].batch).empty());
  CHECK(ErrorOf([&] { (void)linear.step.Prepare(items[3].batch); }).message() ==
        "The features to the model returned by input_fn must have static shape. Tensor: a batch of "
        "1 examples, expected 2");
}

TEST_CASE("a traced step leaves its kernels' events, and the values of any other") {
  LinearStep traced;
  LinearStep plain;
  StepTrace trace(traced.home.clock);
  std::vector<InfeedItem> items = traced.Items();
  const StepsMade made = traced.step.Run(std::span(items).first(1), {.trace = &trace});
  CHECK(trace.events().size() > 1);
  items = plain.Items();
  CHECK(made.Values(0).loss == plain.step.Run(std::span(items).first(1), {}).Values(0).loss);
}

}  // namespace tpuest
