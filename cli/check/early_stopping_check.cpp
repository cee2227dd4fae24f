#include "cli/check/early_stopping_check.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <variant>

#include "cli/job/eval_tasks.h"
#include "cli/job/job.h"
#include "core/base/faults.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {

std::vector<Fault> CheckEarlyStopping(const Job& job) {
  Faults faults;
  const std::vector<EventsOfJob> events = EventsOf(job);
  for (size_t i = 0; i < job.train_spec->hooks.size(); ++i) {
    const EarlyStoppingOptions* const stopping = EarlyStoppingOf(job.train_spec->hooks[i]);
    if (stopping == nullptr || stopping->eval_dir) continue;
    const std::string key = fmt::format("train_spec.hooks[{}]", i);
    const bool is_fed = std::ranges::any_of(events, [&](const EventsOfJob& of) {
      return stopping->eval ? *stopping->eval == of.label || *stopping->eval == of.name
                            : of.name.empty();
    });
    if (is_fed) continue;
    std::vector<std::string> labels;
    for (const EventsOfJob& of : events) labels.push_back(of.label);
    const std::string named = Join(labels, ", ");
    if (events.empty()) {
      faults.Say(key, "the hook would never stop the training: the job has no evaluation",
                 "eval_spec: {input_fn: test, steps: null}, an InMemoryEvaluatorHook, or "
                 "eval_dir, the folder of another job's evaluations");
    } else if (stopping->eval) {
      faults.Say(
          key + ".eval", fmt::format("the job has no evaluation '{}'", *stopping->eval),
          fmt::format("evaluations: {}; eval_dir names the folder of another job's evaluations",
                      named));
    } else {
      faults.Say(key,
                 fmt::format("the hook would never stop the training: it reads {}/, but no "
                             "evaluation of the job writes there",
                             EvalFolderName("")),
                 fmt::format("eval: {} names an evaluation; evaluations: {}", labels[0], named));
    }
  }
  return faults.Take();
}

std::vector<std::string> UnwrittenEvalDirs(const Job& job, const std::string& model_dir) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::absolute(path + "/.").lexically_normal();
  };
  std::set<std::filesystem::path> folders;
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    folders.insert(plain(EvalDir(model_dir, named.name)));
  }
  const std::vector<AnyHook>& hooks = job.train_spec->hooks;
  for (const AnyHook& hook : hooks) {
    if (const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook)) {
      folders.insert(plain(EvalDir(model_dir, evaluator->name.value_or(""))));
    }
  }
  std::vector<std::string> unwritten;
  for (const AnyHook& hook : hooks) {
    const EarlyStoppingOptions* const stopping = EarlyStoppingOf(hook);
    if (stopping == nullptr || !stopping->eval_dir) continue;
    const std::string& folder = *stopping->eval_dir;
    if (!folders.contains(plain(folder)) && !DirectoryExists(folder)) unwritten.push_back(folder);
  }
  return unwritten;
}

}  // namespace tpuest::cli
