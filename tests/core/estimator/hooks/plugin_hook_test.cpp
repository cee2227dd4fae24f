// A hook in a shared library: tests/core/estimator/hooks/example_hook.cpp, which Meson builds.

#include "core/estimator/hooks/plugin_hook.h"

#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

TrainResult TrainWith(SessionRunHook& hook, const TemporaryFolder& folder, Home& home) {
  EstimatorOptions options = Options(folder.path(), 1);
  options.run_config.tpu_config.iterations_per_loop = 1;
  Estimator estimator(LinearModel(), options, home.get());
  return estimator.Train(RangeInput({}), {.max_steps = 200}, {&hook});
}

}  // namespace

TEST_CASE("a shared library is a hook: the example ends a run once the loss is below its target") {
  const TemporaryFolder folder;
  Home home;
  PluginHook hook({.path = EXAMPLE_HOOK, .arguments = {{"target", "0.5"}}});
  const TrainResult result = TrainWith(hook, folder, home);
  CHECK(result.stopped_because == "plugin");
  CHECK(result.loss < 0.5);
  CHECK(result.global_step < 200);

  const TemporaryFolder other;
  PluginHook without({.path = EXAMPLE_HOOK});
  CHECK(TrainWith(without, other, home).global_step == 200);
}

TEST_CASE("a library that is not a plugin for hooks is refused") {
  const TemporaryFolder folder;
  const std::string text = folder.path() + "/text.so";
  WriteFileAtomically(text, "no library", false);
  CHECK(ErrorOf([&] { PluginHook({.path = text}); }).message().find("is not a shared library") !=
        std::string::npos);
  CHECK(ErrorOf([&] { PluginHook({.path = folder.path() + "/none.so"}); })
            .message()
            .find("there is no such plugin") != std::string::npos);
  const Error other = ErrorOf([] { PluginHook({.path = "libz.so.1"}); });
  CHECK(other.code() == Code::kUsage);
}

}  // namespace tpuest
