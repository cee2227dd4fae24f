// tpuest evaluate [JOB.yaml] [--checkpoint PATH|STEP|latest] [--name NAME]

#include <cstdio>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/text.h"
#include "core/estimator/hook_factory.h"

namespace tpuest::cli {
namespace {

Json MetricFields(const EvaluateResult& result) {
  Json metrics = Json::object();
  for (const auto& [name, value] : result.metrics) metrics[name] = JsonOf(value);
  return {{"global_step", result.global_step},
          {"metrics", metrics},
          {"examples", result.examples},
          {"path", result.checkpoint}};
}

void PrintMetrics(const EvaluateResult& result) {
  for (const auto& [name, value] : result.metrics) {
    if (value.elements() == 1) fmt::print("{} = {}\n", name, JsonOf(value.Reshaped({})).dump());
  }
}

}  // namespace

int Evaluate(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& sources) {
    Session session(invocation, sources);
    return session.Run([&] {
      if (!session.job().eval_spec) {
        throw Error(Code::kUsage, "evaluate needs an eval_spec",
                    "eval_spec: {input_fn: test, steps: null}");
      }
      const EvalSpec& spec = *session.job().eval_spec;
      const JobHooks hooks = MakeHooks(spec.hooks);
      const EvaluateArgs args{.steps = spec.steps,
                              .checkpoint = session.Checkpoint(),
                              .name = invocation.name.value_or(spec.name.value_or("")),
                              .hooks = hooks.hooks()};
      const EvaluateResult result =
          session.estimator().Evaluate(MakeJobInputFn(session.job(), spec.input_fn), args);
      session.console().Clear();
      if (invocation.json) {
        PrintDocument("evaluate", MetricFields(result));
      } else {
        PrintMetrics(result);
      }
      return 0;
    });
  });
}

}  // namespace tpuest::cli
