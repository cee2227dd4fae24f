// tpuest evaluate [JOB.yaml] [--checkpoint PATH|STEP|latest|best|all] [--name NAME]
//   [--fail-if METRIC<NUMBER]... [--follow]

#include "cli/commands.h"
#include "cli/eval_gates.h"
#include "cli/eval_report.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/estimator/hook_factory.h"
#include "core/io/checkpoint_state.h"

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

// The checkpoints that --checkpoint names, oldest first; nullopt: the newest, if there is any.
std::vector<std::optional<std::string>> CheckpointsFor(Session& session,
                                                       const Invocation& invocation) {
  if (invocation.checkpoint != "all") return {session.Checkpoint()};
  const std::string& model_dir = session.estimator().model_dir();
  std::vector<std::optional<std::string>> prefixes;
  for (const auto& [step, prefix] : CheckpointsIn(model_dir)) prefixes.emplace_back(prefix);
  if (prefixes.empty()) {
    throw Error(Code::kCheckpoint, fmt::format("{}: there is no checkpoint", model_dir),
                "--model-dir DIR of a run that has been trained");
  }
  return prefixes;
}

// Evaluates checkpoints one by one and says what came out.
class Evaluator {
 public:
  Evaluator(Session& session, const Invocation& invocation)
      : session_(session),
        invocation_(invocation),
        wanted_(SpecsFor(session.job(), invocation.name)),
        all_(invocation.checkpoint == "all") {
    for (const std::string& text : invocation.fail_if) gates_.push_back(ParseEvalGate(text));
  }

  // The fields of its document.
  Json Evaluate(const std::optional<std::string>& checkpoint) {
    Json fields;
    std::map<std::string, double> numbers;
    for (const NamedEvalSpec& named : wanted_.specs) {
      const EvaluateResult result = EvaluateSpec(session_, named, checkpoint);
      session_.console().Clear();
      fields["global_step"] = result.global_step;
      Json& metrics = wanted_.several ? fields["metrics"][named.label] : fields["metrics"];
      metrics = MetricsJson(result);
      if (!wanted_.several) fields["examples"] = result.examples;
      fields["path"] = result.checkpoint;
      const std::string prefix = wanted_.several ? named.label + "/" : "";
      numbers.merge(MetricNumbers(result, prefix));
      if (!invocation_.json) {
        PrintMetrics(result, (all_ ? fmt::format("{}/", result.global_step) : "") + prefix);
      }
    }
    if (!gates_.empty()) fields["failed_gates"] = Failed(numbers, fields["path"]);
    return fields;
  }

  [[nodiscard]] int exit_code() const { return failed_ ? static_cast<int>(Code::kGate) : 0; }

 private:
  // The gates that fail, which are told too.
  Json Failed(const std::map<std::string, double>& numbers, const std::string& path) {
    Json texts = Json::array();
    for (const FailedGate& gate : FailedGates(gates_, numbers)) {
      session_.log().Warning("gate not met: {}: it is {} at {}", gate.text, NumberText(gate.value),
                             path.empty() ? "the start" : path);
      texts.push_back(gate.text);
      failed_ = true;
    }
    return texts;
  }

  Session& session_;
  const Invocation& invocation_;
  Wanted wanted_;
  bool all_;
  std::vector<EvalGate> gates_;
  bool failed_ = false;
};

}  // namespace

int Evaluate(const Invocation& invocation) {
  if (invocation.follow) return Follow(invocation);
  return Guarded(invocation, [&](config::Sources& sources) {
    Session session(invocation, sources);
    return session.Run([&] {
      Evaluator evaluator(session, invocation);
      Json fields;
      Json evaluations = Json::array();
      for (const auto& checkpoint : CheckpointsFor(session, invocation)) {
        fields = evaluator.Evaluate(checkpoint);
        evaluations.push_back(fields);
      }
      if (invocation.checkpoint == "all") {
        fields = {{"global_step", fields["global_step"]}, {"evaluations", evaluations}};
      }
      if (invocation.json) PrintDocument("evaluate", fields);
      return evaluator.exit_code();
    });
  });
}

}  // namespace tpuest::cli
