#include "core/estimator/model_dir/metrics_log.h"

#include <limits>

#include "core/estimator/hooks/train_hooks.h"
#include "core/estimator/train/input_waits.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

std::string PathOf(const TemporaryFolder& folder) { return folder.File(".tpuest/metrics.jsonl"); }

}  // namespace

TEST_CASE("a step's line has the digits that restore the loss") {
  TemporaryFolder folder;
  MetricsLog log(folder.path());
  log.Append({.step = 3,
              .loss = 0.1F,
              .learning_rate = 1e-7F,
              .examples_per_sec = 1234.5678,
              .input_wait = 0.03125,
              .time = 1795312360.125});
  log.Append({.step = 4, .loss = 2});
  CHECK(ReadFile(PathOf(folder)) ==
        "{\"step\":3,\"loss\":0.1,\"learning_rate\":1e-07,\"examples_per_sec\":1234.57,"
        "\"input_wait\":0.03125,\"time\":1795312360.125}\n"
        "{\"step\":4,\"loss\":2,\"examples_per_sec\":0,\"input_wait\":0,\"time\":0.0}\n");
}

TEST_CASE("an evaluation's line has only scalars, and null for values that are not finite") {
  TemporaryFolder folder;
  MetricsLog log(folder.path());
  log.AppendEvaluation(5, "test \"a\"",
                       {{"accuracy", Tensor::Scalar<float>(0.5F)},
                        {"auc", Tensor::Scalar<float>(std::numeric_limits<float>::quiet_NaN())},
                        {"matrix", Tensor(DType::kFloat, {2, 2})}});
  CHECK(ReadFile(PathOf(folder)) ==
        "{\"step\":5,\"eval\":\"test \\\"a\\\"\",\"metrics\":{\"accuracy\":0.5,\"auc\":null}}\n");
}

TEST_CASE("a cut removes later steps, their evaluations, and an incomplete line") {
  TemporaryFolder folder;
  MetricsLog log(folder.path());
  log.CutAfter(5);  // there is no file yet
  const std::string kept = "{\"step\":1,\"loss\":1}\n{\"step\":2,\"eval\":\"eval\"}\n";
  AppendFile(PathOf(folder)).Append(kept + "{\"step\":3,\"loss\":1}\n{\"step\":1,\"lo");
  log.CutAfter(2);
  CHECK(ReadFile(PathOf(folder)) == kept);
  log.Append({.step = 3, .loss = 1});
  CHECK(ReadFile(PathOf(folder)).starts_with(kept + "{\"step\":3,\"loss\":1,"));
}

TEST_CASE("floats are printed as Python prints them") {
  CHECK(PythonFloat(2) == "2.0");
  CHECK(PythonFloat(-3) == "-3.0");
  CHECK(PythonFloat(0.6931472F) == "0.6931472");
  CHECK(PythonFloat(1e-7F) == "1e-07");
  CHECK(PythonFloat(std::numeric_limits<float>::quiet_NaN()) == "nan");
}

TEST_CASE("the log reports long waits for the input") {
  class StoppedClock final : public Clock {
   public:
    [[nodiscard]] double WallSeconds() const override { return 0; }
    [[nodiscard]] double Seconds() const override { return 10; }
  };
  const StoppedClock clock;
  Log log;
  std::vector<std::string> lines;
  log.AddSink([&](LogLevel /*level*/, std::string_view line) { lines.emplace_back(line); });
  InputWaitsHook hook(2, log, clock);
  hook.AfterCreateSession({});
  const auto step = [&](int64_t number, double seconds, double waited) {
    const StepRecord record{.step = number, .seconds = seconds, .input_wait = waited};
    RunContext context(number - 1);
    hook.AfterRun(context, {.global_step = number, .steps = {&record, 1}});
  };
  step(1, 11, 0.75);
  CHECK(lines.empty());  // not due
  step(2, 12, 0.75);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("waited 75% of 2.0 s for the input; num_parallel_calls"));
  step(4, 22, 1.5);  // 15 %
  step(6, 22.5, 0.4);
  CHECK(lines.size() == 1);
  step(8, 24.5, 2);
  CHECK(lines.back() == "waited 100% of 2.0 s for the input");
}

}  // namespace tpuest
