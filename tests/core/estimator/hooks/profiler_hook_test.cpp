#include "core/estimator/hooks/profiler_hook.h"

#include "core/estimator/hooks/chrome_trace.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {

TEST_CASE("ProfilerHook writes traces of steps at intervals, but not of the first step") {
  TemporaryFolder folder;
  Home home;
  const auto train = [&](const std::string& name, const std::vector<SessionRunHook*>& hooks) {
    EstimatorOptions options = Options(folder.File(name));
    options.run_config.tpu_config.iterations_per_loop = 100;
    (void)Estimator(LinearModel(), options, home.get())
        .Train(RangeInput({}), {.max_steps = 8}, TrainHooks(hooks, {}));
    return CheckpointBytes(folder.File(name + "/model.ckpt-8"));
  };
  ProfilerHook hook(3, std::nullopt, folder.File("profile"));
  CHECK(train("profiled", {&hook}) == train("plain", {}));
  CHECK(ListDirectory(folder.File("profile")).size() == 3);
  for (const int step : {2, 5, 8}) {
    const std::string path = folder.File(fmt::format("profile/timeline-{}.json", step));
    REQUIRE(FileExists(path));
    const std::string trace = ReadFile(path);
    CHECK(trace.starts_with("{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"thread_name\""));
    CHECK(trace.find("\"name\":\"MatMul\",\"pid\":0,\"tid\":0,") != std::string::npos);
    CHECK(trace.ends_with("}]}\n"));
  }
  CHECK(home.Logged("Saving timeline for 5 into '" + folder.File("profile/timeline-5.json")));
}

TEST_CASE("a trace counts time from its first event") {
  Home home;
  StepTrace trace(home.clock);
  trace.Add({"dense/MatMul", "MatMul", 1, 10.5, 10.75});
  trace.Add({"a\"b", "Relu", 0, 10.0, 10.25});
  CHECK(ChromeTrace(trace) ==
        "{\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"step "
        "thread 0\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":1,\"args\":{\"name\":\"step "
        "thread 1\"}},"
        "{\"ph\":\"X\",\"cat\":\"Op\",\"name\":\"MatMul\",\"pid\":0,\"tid\":1,\"ts\":500000.0,"
        "\"dur\":250000.0,\"args\":{\"name\":\"dense/MatMul\",\"op\":\"MatMul\"}},"
        "{\"ph\":\"X\",\"cat\":\"Op\",\"name\":\"Relu\",\"pid\":0,\"tid\":0,\"ts\":0.0,"
        "\"dur\":250000.0,\"args\":{\"name\":\"a\\\"b\",\"op\":\"Relu\"}}"
        "]}\n");
}

}  // namespace tpuest
