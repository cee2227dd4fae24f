// tpuest evaluate [JOB.yaml] [--checkpoint PATH|STEP|latest|best|all] [--name NAME]
//   [--fail-if METRIC<NUMBER]... [--follow]

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/job/eval_tasks.h"
#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/eval_gates.h"
#include "cli/run/eval_report.h"
#include "cli/run/process.h"
#include "cli/run/session.h"
#include "cli/run/untrained.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/hooks/hook_factory.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/options/eval_name.h"
#include "core/io/checkpoint_state.h"

namespace tpuest::cli {
namespace {

void DeclareEvaluate(FlagSet& flags, EvaluateInvocation& to) {
  DeclareFold(flags, to);
  flags.Text("--checkpoint", to.checkpoint, "PATH|STEP|latest|best|all",
             "checkpoint to evaluate: a prefix, a step, a model_dir, latest, best or all; the job "
             "may then be left out");
  DeclareAllowOlder(flags, to);
  DeclareUntrained(flags, to);
  DeclareEvaluationName(flags, to.name);
  flags.Repeated("--fail-if", to.fail_if, "METRIC<NUMBER",
                 "exit with code 8 if this holds, such as 'accuracy<0.9'; may be repeated");
  flags.Switch("--follow", to.follow, "evaluate each new checkpoint of a run until the run ends");
}

struct Wanted {
  std::vector<NamedEvalSpec> specs;
  bool several = false;  // the results have the names of their EvalSpecs as keys
};

// Returns the EvalSpecs to evaluate: all, or the one that --name names. For a job with a single
// EvalSpec --name names the folder of its events.
Wanted SpecsFor(const Job& job, const std::optional<std::string>& name) {
  Wanted wanted{.specs = EvalSpecsOf(job)};
  if (wanted.specs.empty()) {
    throw Error(Code::kUsage, "evaluate needs an eval_spec",
                "eval_spec: {input_fn: test, steps: null}");
  }
  wanted.several = wanted.specs.size() > 1 && !name;
  if (!name) return wanted;
  if (wanted.specs.size() == 1) {
    if (const std::string fault = FaultOfEvalName(*name); !fault.empty()) {
      throw Error(Code::kUsage, "--" + fault);
    }
    NamedEvalSpec& only = wanted.specs[0];
    if (*name != only.label) only.label = only.name = *name;
    return wanted;
  }
  std::vector<std::string> labels;
  for (const NamedEvalSpec& named : wanted.specs) labels.push_back(named.label);
  std::erase_if(wanted.specs, [&](const NamedEvalSpec& named) { return named.label != *name; });
  if (wanted.specs.empty()) {
    throw Error(Code::kUsage,
                fmt::format("--name {}: eval_spec has no evaluation of this name", *name),
                fmt::format("evaluations: {}", Join(labels, ", ")));
  }
  return wanted;
}

int FollowChief(Session& session, const EvaluateInvocation& invocation) {
  return session.FollowChief({.evaluations = EvaluationInputs(
                                  session.job(), SpecsFor(session.job(), invocation.name).specs)});
}

// Returns false if permissions or a read-only disk keep this process from writing to a file or
// folder, or from creating it.
bool MayWrite(std::string path) {
  while (!path.empty() && !FileExists(path) && !DirectoryExists(path)) path = DirName(path);
  if (path.empty()) path = ".";
  return ::euidaccess(path.c_str(), W_OK) == 0 || (errno != EACCES && errno != EROFS);
}

// Returns true if this process can write the evaluation's events and its line of metrics.jsonl to
// the run's folder.
bool MayPublish(const std::string& model_dir, const NamedEvalSpec& named) {
  return MayWrite(EvalDir(model_dir, named.name)) && MayWrite(MetricsPath(model_dir));
}

EvaluateResult EvaluateSpec(Session& session, const NamedEvalSpec& named,
                            const std::optional<std::string>& checkpoint, bool publish) {
  const JobHooks hooks = MakeHooks(named.spec->hooks);
  return session.estimator().Evaluate(MakeJobInputFn(session.job(), named.spec->input_fn),
                                      {.steps = named.spec->steps,
                                       .checkpoint = checkpoint,
                                       .allow_older = session.allows_older(),
                                       .name = named.name,
                                       .hooks = hooks.hooks(),
                                       .label = named.label,
                                       .publish = publish});
}

// Returns the checkpoints that --checkpoint names, oldest first; nullopt means the newest, if any
// exists.
std::vector<std::optional<std::string>> CheckpointsFor(Session& session,
                                                       const EvaluateInvocation& invocation) {
  if (invocation.checkpoint != kAllCheckpoints) return {session.Checkpoint()};
  const std::string& model_dir = session.estimator().model_dir();
  std::vector<std::optional<std::string>> prefixes;
  for (const auto& [step, prefix] : CheckpointsIn(model_dir)) prefixes.emplace_back(prefix);
  if (prefixes.empty()) {
    throw Error(Code::kCheckpoint, fmt::format("{}: there is no checkpoint", model_dir),
                "--model-dir DIR of a run that has been trained");
  }
  return prefixes;
}

// Evaluates checkpoints one by one and reports the results.
class Evaluator {
 public:
  Evaluator(Session& session, const EvaluateInvocation& invocation)
      : session_(session),
        invocation_(invocation),
        wanted_(SpecsFor(session.job(), invocation.name)),
        all_(invocation.checkpoint == kAllCheckpoints) {
    for (const std::string& text : invocation.fail_if) gates_.push_back(ParseEvalGate(text));
  }

  // Evaluates one checkpoint; prints its metrics, unless --json, and returns the document's fields.
  Json Evaluate(const std::optional<std::string>& checkpoint) {
    Json fields;
    std::map<std::string, double> numbers;
    for (const NamedEvalSpec& named : wanted_.specs) {
      const EvaluateResult result = EvaluateSpec(session_, named, checkpoint, Publishes(named));
      session_.console().Clear();
      fields["global_step"] = result.global_step;
      Json& metrics = wanted_.several ? fields["metrics"][named.label] : fields["metrics"];
      metrics = MetricsJson(result);
      if (!wanted_.several) fields["examples"] = result.examples;
      fields["path"] = result.checkpoint;
      if (result.checkpoint.empty() && IsUntrained(session_)) fields["untrained"] = true;
      const std::string prefix = wanted_.several ? named.label + "/" : "";
      numbers.merge(MetricNumbers(result, prefix));
      if (!invocation_.json) {
        PrintMetrics(result, (all_ ? fmt::format("{}/", result.global_step) : "") + prefix,
                     ClassNamesOf(session_.job()));
      }
    }
    if (invocation_.dry_run) {
      fields["dry_run"] = true;
    } else if (!gates_.empty()) {
      fields["failed_gates"] = Failed(numbers, fields["path"]);
    }
    return fields;
  }

  [[nodiscard]] int exit_code() const { return failed_ ? static_cast<int>(Code::kGate) : 0; }

 private:
  // Warns once if it returns false.
  [[nodiscard]] bool Publishes(const NamedEvalSpec& named) {
    const std::string& model_dir = session_.estimator().model_dir();
    if (MayPublish(model_dir, named)) return true;
    if (!std::exchange(warned_, true)) {
      session_.log().Warning(
          "{}: is not writable, so the evaluation writes no events and no line of {}", model_dir,
          BaseName(MetricsPath(model_dir)));
    }
    return false;
  }

  // Warns of each gate that fails and returns their texts.
  Json Failed(const std::map<std::string, double>& numbers, const std::string& path) {
    Json texts = Json::array();
    for (const FailedGate& gate : FailedGates(gates_, numbers)) {
      session_.log().Warning("gate not met: {}: the value is {} at {}", gate.text,
                             NumberText(gate.value), path.empty() ? "the start" : path);
      texts.push_back(gate.text);
      failed_ = true;
    }
    return texts;
  }

  Session& session_;
  const EvaluateInvocation& invocation_;
  Wanted wanted_;
  bool all_;
  std::vector<EvalGate> gates_;
  bool failed_ = false;
  bool warned_ = false;  // that the run's folder is not writable
};

}  // namespace

void DeclareEvaluationName(FlagSet& flags, std::optional<std::string>& to) {
  flags.Text("--name", to, "NAME", "write events to eval_NAME/");
}

int Evaluate(const EvaluateInvocation& invocation, config::Sources& sources) {
  if (invocation.follow) return IsLeftToChief(invocation) ? 0 : Follow(invocation, sources);
  if (IsLeftToChief(invocation, sources)) return 0;
  Session session(invocation, sources, SessionUse::kModel);
  if (session.is_worker()) return FollowChief(session, invocation);
  return session.Run([&] {
    CheckTrained(session, invocation, "evaluate");
    Evaluator evaluator(session, invocation);
    Json fields;
    Json evaluations = Json::array();
    for (const auto& checkpoint : CheckpointsFor(session, invocation)) {
      fields = evaluator.Evaluate(checkpoint);
      evaluations.push_back(fields);
    }
    if (invocation.checkpoint == kAllCheckpoints) {
      fields = {{"global_step", fields["global_step"]}, {"evaluations", evaluations}};
    }
    if (invocation.json) PrintDocument("evaluate", fields);
    return evaluator.exit_code();
  });
}

Command EvaluateCommand() {
  return MakeCommand<EvaluateInvocation>(
      {.name = "evaluate",
       .summary = "evaluate a checkpoint",
       .examples = {"tpuest evaluate job.yaml", "tpuest evaluate --checkpoint runs/mnist --json"}},
      DeclareEvaluate, Evaluate);
}

}  // namespace tpuest::cli
