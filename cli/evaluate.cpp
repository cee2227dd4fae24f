// tpuest evaluate [JOB.yaml] [--checkpoint PATH|STEP|latest|best] [--name NAME] [--follow]

#include "cli/commands.h"
#include "cli/eval_report.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/text.h"
#include "core/estimator/hook_factory.h"

namespace tpuest::cli {
namespace {

struct Wanted {
  std::vector<NamedEvalSpec> specs;
  bool several = false;  // results go by name
};

// Of several EvalSpecs the one that --name names, or all; --name gives a single one's events a
// folder.
Wanted SpecsFor(const Job& job, const std::optional<std::string>& name) {
  Wanted wanted{.specs = EvalSpecsOf(job)};
  if (wanted.specs.empty()) {
    throw Error(Code::kUsage, "evaluate needs an eval_spec",
                "eval_spec: {input_fn: test, steps: null}");
  }
  wanted.several = wanted.specs.size() > 1 && !name;
  if (!name) return wanted;
  if (wanted.specs.size() == 1) {
    NamedEvalSpec& only = wanted.specs[0];
    if (*name != only.label) only.label = only.name = *name;
    return wanted;
  }
  std::vector<std::string> labels;
  for (const NamedEvalSpec& named : wanted.specs) labels.push_back(named.label);
  std::erase_if(wanted.specs, [&](const NamedEvalSpec& named) { return named.label != *name; });
  if (wanted.specs.empty()) {
    throw Error(Code::kUsage, fmt::format("--name {}: it is none of eval_spec", *name),
                fmt::format("there are: {}", Join(labels, ", ")));
  }
  return wanted;
}

EvaluateResult EvaluateSpec(Session& session, const NamedEvalSpec& named,
                            const std::optional<std::string>& checkpoint) {
  const JobHooks hooks = MakeHooks(named.spec->hooks);
  return session.estimator().Evaluate(MakeJobInputFn(session.job(), named.spec->input_fn),
                                      {.steps = named.spec->steps,
                                       .checkpoint = checkpoint,
                                       .name = named.name,
                                       .hooks = hooks.hooks(),
                                       .label = named.label});
}

}  // namespace

int Evaluate(const Invocation& invocation) {
  if (invocation.follow) return Follow(invocation);
  return Guarded(invocation, [&](config::Sources& sources) {
    Session session(invocation, sources);
    return session.Run([&] {
      const Wanted wanted = SpecsFor(session.job(), invocation.name);
      const std::optional<std::string> checkpoint = session.Checkpoint();
      Json fields;
      for (const NamedEvalSpec& named : wanted.specs) {
        const EvaluateResult result = EvaluateSpec(session, named, checkpoint);
        session.console().Clear();
        fields["global_step"] = result.global_step;
        Json& metrics = wanted.several ? fields["metrics"][named.label] : fields["metrics"];
        metrics = MetricsJson(result);
        if (!wanted.several) fields["examples"] = result.examples;
        fields["path"] = result.checkpoint;
        if (!invocation.json) PrintMetrics(result, wanted.several ? named.label + "/" : "");
      }
      if (invocation.json) PrintDocument("evaluate", fields);
      return 0;
    });
  });
}

}  // namespace tpuest::cli
