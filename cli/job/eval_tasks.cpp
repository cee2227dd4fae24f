#include "cli/job/eval_tasks.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <type_traits>
#include <variant>

#include "cli/job/export_args.h"
#include "cli/job/job.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

std::string LabelOf(const InMemoryEvaluatorHookOptions& options) {
  return options.name.value_or("eval");
}

// The shared options of an early-stopping hook; nullptr for another hook. Hook is AnyHook, const or
// not.
template <class Hook>
auto* EarlyStoppingOf(Hook& hook) {
  using Options =
      std::conditional_t<std::is_const_v<Hook>, const EarlyStoppingOptions, EarlyStoppingOptions>;
  return std::visit(
      [](auto& options) -> Options* {
        if constexpr (std::is_base_of_v<EarlyStoppingOptions, std::decay_t<decltype(options)>>) {
          return &options;
        } else {
          return nullptr;
        }
      },
      hook);
}

// An evaluation that writes events while the job trains.
struct EventsOfJob {
  std::string label;  // the name that an early-stopping hook may give as `eval`
  std::string name;   // of the folder, EvalFolderName(name)
};

std::vector<EventsOfJob> EventsOf(const Job& job) {
  std::vector<EventsOfJob> events;
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) events.push_back({named.label, named.name});
  for (const AnyHook& hook : job.train_spec->hooks) {
    const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
    if (evaluator == nullptr) continue;
    events.push_back({evaluator->name.value_or("eval"), evaluator->name.value_or("")});
  }
  return events;
}

}  // namespace

std::vector<EvalTask> EvalTasksOf(const Job& job, std::string_view command) {
  std::vector<EvalTask> tasks;
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    const EvalSpec& spec = *named.spec;
    EvalTask task;
    task.label = named.label;
    task.input_fn = MakeJobInputFn(job, spec.input_fn);
    task.args.steps = spec.steps;
    task.args.name = named.name;
    task.hooks = std::make_shared<const JobHooks>(MakeHooks(spec.hooks));
    task.start_delay_secs = static_cast<double>(spec.start_delay_secs);
    task.throttle_secs = static_cast<double>(spec.throttle_secs);
    task.every_steps = spec.every_steps;
    for (const AnyExporter& exporter : spec.exporters) {
      task.exporters.push_back({exporter, ExportArgsOf(job, CommonOf(exporter))});
    }
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) {
    throw Error(Code::kUsage, fmt::format("{} needs an eval_spec", command),
                "eval_spec: {input_fn: test, steps: null}");
  }
  return tasks;
}

EvalTask TaskOf(const Job& job, const InMemoryEvaluatorHookOptions& options) {
  EvalTask task;
  task.label = LabelOf(options);
  task.input_fn = MakeJobInputFn(job, options.input_fn);
  task.args.steps = options.steps;
  task.args.name = options.name.value_or("");
  task.hooks = std::make_shared<const JobHooks>(MakeHooks(options.hooks));
  return task;
}

std::map<std::string, InputFn> EvaluationInputs(const Job& job,
                                                const std::vector<NamedEvalSpec>& specs) {
  std::map<std::string, InputFn> inputs;
  for (const NamedEvalSpec& named : specs) {
    inputs[named.label] = MakeJobInputFn(job, named.spec->input_fn);
  }
  return inputs;
}

std::map<std::string, InputFn> EvaluationInputs(const Job& job) {
  std::map<std::string, InputFn> inputs = EvaluationInputs(job, EvalSpecsOf(job));
  for (const AnyHook& hook : job.train_spec->hooks) {
    const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
    if (evaluator == nullptr) continue;
    inputs[LabelOf(*evaluator)] = MakeJobInputFn(job, evaluator->input_fn);
  }
  return inputs;
}

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
      faults.Say(key + ".eval", fmt::format("'{}' is no evaluation of the job", *stopping->eval),
                 fmt::format("there are: {}; eval_dir names a folder that others write", named));
    } else {
      faults.Say(key,
                 fmt::format("the hook would never stop the training: it reads {}/, and no "
                             "evaluation of the job writes there",
                             EvalFolderName("")),
                 fmt::format("eval: {} names one; there are: {}", labels[0], named));
    }
  }
  return faults.Take();
}

std::vector<AnyHook> HooksOf(const Job& job) {
  std::vector<AnyHook> hooks = job.train_spec->hooks;
  for (AnyHook& hook : hooks) {
    EarlyStoppingOptions* const stopping = EarlyStoppingOf(hook);
    if (stopping == nullptr || !stopping->eval) continue;
    for (const EventsOfJob& of : EventsOf(job)) {
      if (of.label != *stopping->eval) continue;
      stopping->eval = of.name;
      break;
    }
  }
  return hooks;
}

std::vector<std::string> StrangeEvalDirs(const Job& job, const std::string& model_dir) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::absolute(path + "/.").lexically_normal();
  };
  std::set<std::filesystem::path> folders;
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    folders.insert(plain(EvalDir(model_dir, named.name)));
  }
  std::vector<AnyHook> hooks = job.train_spec->hooks;
  for (const AnyHook& hook : hooks) {
    if (const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook)) {
      folders.insert(plain(EvalDir(model_dir, evaluator->name.value_or(""))));
    }
  }
  std::vector<std::string> strange;
  for (AnyHook& hook : hooks) {
    const EarlyStoppingOptions* const stopping = EarlyStoppingOf(hook);
    if (stopping == nullptr || !stopping->eval_dir) continue;
    const std::string& folder = *stopping->eval_dir;
    if (!folders.contains(plain(folder)) && !DirectoryExists(folder)) strange.push_back(folder);
  }
  return strange;
}

}  // namespace tpuest::cli
