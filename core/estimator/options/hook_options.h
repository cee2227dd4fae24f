#pragma once
// The hooks that a job can name, with TensorFlow's names, arguments and rules. To add one: a struct
// here and in AnyHook, a row in hook_factory.cpp.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/formula_text.h"
#include "core/base/one_of.h"
#include "core/base/step_count.h"
#include "core/base/visit.h"

namespace tpuest {

struct StopAtStepHookOptions {
  static constexpr std::string_view kType = "StopAtStepHook";
  static constexpr std::string_view kSummary = "ends training at a step";
  std::optional<StepCount> num_steps;
  std::optional<StepCount> last_step;

  template <class V>
  void Visit(V& v) {
    v("num_steps", num_steps, {.help = "stop this many steps after the start of this run"});
    v("last_step", last_step, {.help = "stop at this global step"});
  }
};

inline constexpr std::string_view kOutputDirHelp = "folder of its events; null: model_dir";

struct CheckpointSaverHookOptions {
  static constexpr std::string_view kType = "CheckpointSaverHook";
  static constexpr std::string_view kSummary = "saves every some steps or seconds";
  std::optional<int64_t> save_secs;
  std::optional<StepCount> save_steps;

  template <class V>
  void Visit(V& v) {
    v("save_secs", save_secs, {.help = "seconds from one checkpoint to the next"});
    v("save_steps", save_steps,
      {.help = "steps from one to the next; this hook takes the place of run_config's"});
  }
};

struct LoggingTensorHookOptions {
  static constexpr std::string_view kType = "LoggingTensorHook";
  static constexpr std::string_view kSummary = "writes values to the log";
  std::variant<std::vector<std::string>, std::map<std::string, std::string>> tensors;
  std::optional<StepCount> every_n_iter;
  std::optional<double> every_n_secs;
  bool at_end = false;

  template <class V>
  void Visit(V& v) {
    v("tensors", tensors,
      {.help = "loss, learning_rate, global_step, summaries' tags, variables; or name: tensor",
       .required = true});
    v("every_n_iter", every_n_iter, {.help = "steps from one line to the next"});
    v("every_n_secs", every_n_secs, {.help = "seconds from one line to the next"});
    v("at_end", at_end, {.help = "a line at the end of the run"});
  }
};

struct StepCounterHookOptions {
  static constexpr std::string_view kType = "StepCounterHook";
  static constexpr std::string_view kSummary = "records steps a second";
  std::optional<StepCount> every_n_steps = 100;
  std::optional<double> every_n_secs;
  std::optional<std::string> output_dir;

  template <class V>
  void Visit(V& v) {
    v("every_n_steps", every_n_steps, {.help = "at least so many steps from one to the next"});
    v("every_n_secs", every_n_secs, {.help = "seconds; then every_n_steps must be null"});
    v("output_dir", output_dir, {.help = kOutputDirHelp});
  }
};

// The period of a hook that writes once in so many steps or seconds.
struct SaveTimes {
  std::optional<StepCount> save_steps;
  std::optional<double> save_secs;

  // `help` is save_steps'.
  template <class V>
  void VisitTimes(V& v, std::string_view help) {
    v("save_steps", save_steps, {.help = help});
    v("save_secs", save_secs, {.help = "seconds from one to the next"});
  }
};

struct SummarySaverHookOptions : SaveTimes {
  static constexpr std::string_view kType = "SummarySaverHook";
  static constexpr std::string_view kSummary = "records summaries every some steps or seconds";
  std::optional<std::string> output_dir;

  template <class V>
  void Visit(V& v) {
    VisitTimes(v, "steps from one event to the next");
    v("output_dir", output_dir, {.help = kOutputDirHelp});
  }
};

struct NanTensorHookOptions {
  static constexpr std::string_view kType = "NanTensorHook";
  static constexpr std::string_view kSummary = "ends where the loss is not a number";
  bool fail_on_nan_loss = true;

  template <class V>
  void Visit(V& v) {
    v("fail_on_nan_loss", fail_on_nan_loss,
      {.help = "false: a loss that is no number ends the run without an error"});
  }
};

struct ProfilerHookOptions : SaveTimes {
  static constexpr std::string_view kType = "ProfilerHook";
  static constexpr std::string_view kSummary = "records traces of steps for TensorBoard";
  std::string output_dir;

  template <class V>
  void Visit(V& v) {
    VisitTimes(v, "steps from one trace to the next");
    v("output_dir", output_dir, {.help = "folder of timeline-<step>.json, for Chrome or Perfetto"});
  }
};

// The option that all hooks with commands have.
struct CommandOptions {
  bool check = false;

  template <class V>
  void VisitCheck(V& v) {
    v("check", check,
      {.help = "an exit code other than 0 ends the run; false: it is a warning", .tpuest = true});
  }
};

struct ExecHookOptions : CommandOptions {
  static constexpr std::string_view kType = "ExecHook";
  static constexpr std::string_view kSummary = "runs a command at events, with values";
  std::vector<std::string> on;
  std::vector<std::string> command;

  template <class V>
  void Visit(V& v) {
    v("on", on,
      {.help = "when it runs: begin, end; checkpoint_saved of train, evaluated of eval_spec",
       .required = true,
       .tpuest = true});
    v("command", command,
      {.help = "program and arguments; {model_dir}, {checkpoint}, {global_step} are put in; it "
               "reads a line of JSON, and may answer {\"stop\": REASON}",
       .required = true,
       .tpuest = true});
    VisitCheck(v);
  }
};

// Does something once a formula over the numbers of the steps holds.
struct ConditionHookOptions : CommandOptions {
  static constexpr std::string_view kType = "ConditionHook";
  static constexpr std::string_view kSummary =
      "stops, saves or runs a command where a formula is true";
  Formula when = {};
  std::string action;
  std::vector<std::string> command;
  StepCount average_steps = 100;

  template <class V>
  void Visit(V& v) {
    v("when", when,
      {.help = "formula over loss, loss_average, learning_rate, step and summaries by tag",
       .required = true,
       .tpuest = true});
    v("do", action,
      {.help = "what is done once it holds",
       .required = true,
       .tpuest = true,
       .values = {"stop", "save", "command"}});
    v("command", command, {.help = "of do: command, as ExecHook's", .tpuest = true});
    v("average_steps", average_steps,
      {.help = "of loss_average: about so many of the steps before", .tpuest = true});
    VisitCheck(v);
  }
};

// A shared library with the interface of core/estimator/hooks/tpuest_hook.h.
struct PluginHookOptions {
  static constexpr std::string_view kType = "plugin";
  static constexpr std::string_view kSummary = "calls a shared library with a C interface";
  std::string path;
  std::map<std::string, std::string> arguments;

  template <class V>
  void Visit(V& v) {
    v("path", path,
      {.help = "shared library with the functions of tpuest_hook.h",
       .required = true,
       .tpuest = true,
       .input_path = true});
    v("arguments", arguments, {.help = "texts by name, for the library", .tpuest = true});
  }
};

// tf.estimator.experimental.make_stop_at_checkpoint_step_hook: every process trains, so that all of
// them stop there.
struct StopAtCheckpointStepOptions {
  static constexpr std::string_view kType = "make_stop_at_checkpoint_step_hook";
  static constexpr std::string_view kSummary =
      "ends training at the first checkpoint from a step on";
  StepCount last_step = 0;

  template <class V>
  void Visit(V& v) {
    v("last_step", last_step, {.help = "stop at this global step", .required = true});
  }
};

// The options that the early-stopping hooks share.
struct EarlyStoppingOptions {
  std::string metric_name;
  std::optional<std::string> eval_dir;
  std::optional<std::string> eval;
  StepCount min_steps = 0;
  std::optional<double> run_every_secs = 60;
  std::optional<StepCount> run_every_steps;

  template <class V>
  void VisitShared(V& v) {
    v("metric_name", metric_name, {.help = "of the evaluations", .required = true});
    VisitLooks(v);
  }
  template <class V>
  void VisitLooks(V& v) {
    v("eval_dir", eval_dir, {.help = "folder of their events; null: model_dir/eval"});
    v("eval", eval, {.help = "name of the evaluation, for model_dir/eval_<name>", .tpuest = true});
    v("min_steps", min_steps, {.help = "evaluations before this global step do not count"});
    v("run_every_secs", run_every_secs, {.help = "seconds from one look to the next"});
    v("run_every_steps", run_every_steps,
      {.help = "steps from one look to the next; then run_every_secs must be null"});
  }
};

// The direction in which a metric goes.
enum class Direction { kHigher, kLower };

template <Direction stops>
struct StopIfCrossedOptions : EarlyStoppingOptions {
  static constexpr bool kHigher = stops == Direction::kHigher;
  static constexpr std::string_view kType = kHigher ? "stop_if_higher_hook" : "stop_if_lower_hook";
  static constexpr std::string_view kSummary =
      kHigher ? std::string_view("ends training where a metric is above a threshold")
              : "ends training where a metric is below a threshold";
  double threshold = 0;

  template <class V>
  void Visit(V& v) {
    VisitShared(v);
    v("threshold", threshold,
      {.help = kHigher ? "stop above this" : "stop below this", .required = true});
  }
};
using StopIfHigherHookOptions = StopIfCrossedOptions<Direction::kHigher>;
using StopIfLowerHookOptions = StopIfCrossedOptions<Direction::kLower>;

// `better` is the direction in which the metric should go.
template <Direction better>
struct StopIfNoBetterOptions : EarlyStoppingOptions {
  static constexpr bool kHigher = better == Direction::kHigher;
  static constexpr std::string_view kType =
      kHigher ? "stop_if_no_increase_hook" : "stop_if_no_decrease_hook";
  static constexpr std::string_view kSummary =
      kHigher ? std::string_view("ends training where a metric has not risen for a while")
              : "ends training where a metric has not fallen for a while";
  StepCount max_steps_without = 0;
  double min_delta = 0;

  template <class V>
  void Visit(V& v) {
    VisitShared(v);
    v(kHigher ? "max_steps_without_increase" : "max_steps_without_decrease", max_steps_without,
      {.help = "stop so many steps after the best evaluation", .required = true});
    v("min_delta", min_delta,
      {.help = kHigher ? "what is better by no more than this is no increase"
                       : "what is better by no more than this is no decrease",
       .tpuest = true});
  }
};
using StopIfNoIncreaseHookOptions = StopIfNoBetterOptions<Direction::kHigher>;
using StopIfNoDecreaseHookOptions = StopIfNoBetterOptions<Direction::kLower>;

// tf.estimator.experimental.make_early_stopping_hook, whose function is a formula.
struct EarlyStoppingFormulaOptions : EarlyStoppingOptions {
  static constexpr std::string_view kType = "make_early_stopping_hook";
  static constexpr std::string_view kSummary =
      "ends training where a formula of the metrics is true";
  Formula should_stop = {};

  template <class V>
  void Visit(V& v) {
    v("should_stop_fn", should_stop,
      {.help = "formula over the metrics of an evaluation by their names (/ and others as _), and "
               "global_step",
       .required = true});
    VisitLooks(v);
  }
};

// The hooks that eval_spec and predict may name: those that do something where no weight changes
// and the global step stands still.
using AnyEvalHook =
    std::variant<ProfilerHookOptions, StopAtStepHookOptions, LoggingTensorHookOptions,
                 SummarySaverHookOptions, NanTensorHookOptions, ExecHookOptions,
                 ConditionHookOptions, PluginHookOptions>;
using AnyPredictHook =
    std::variant<ProfilerHookOptions, StopAtStepHookOptions, LoggingTensorHookOptions,
                 NanTensorHookOptions, ExecHookOptions, ConditionHookOptions, PluginHookOptions>;

// tf.estimator.experimental.InMemoryEvaluatorHook.
struct InMemoryEvaluatorHookOptions {
  static constexpr std::string_view kType = "InMemoryEvaluatorHook";
  static constexpr std::string_view kSummary =
      "evaluates within a training, with the weights as they are in memory";
  std::string input_fn;
  std::optional<int64_t> steps;
  std::vector<AnyEvalHook> hooks;
  std::optional<std::string> name;
  StepCount every_n_iter = 100;

  template <class V>
  void Visit(V& v) {
    v("input_fn", input_fn, {.help = "one of input_fns", .required = true});
    v("steps", steps, {.help = "batches; null: the whole input once"});
    v("hooks", hooks, {.help = "SessionRunHooks of an evaluation, in this order"});
    v("name", name, {.help = "events go to eval_<name>/; null: eval/"});
    v("every_n_iter", every_n_iter, {.help = "steps from one evaluation to the next"});
  }
};

// The hooks that train_spec may name.
using AnyHookTypes =
    std::variant<ProfilerHookOptions, StopAtStepHookOptions, CheckpointSaverHookOptions,
                 LoggingTensorHookOptions, StepCounterHookOptions, SummarySaverHookOptions,
                 NanTensorHookOptions, ExecHookOptions, ConditionHookOptions, PluginHookOptions,
                 StopAtCheckpointStepOptions, StopIfHigherHookOptions, StopIfLowerHookOptions,
                 StopIfNoIncreaseHookOptions, StopIfNoDecreaseHookOptions,
                 EarlyStoppingFormulaOptions, InMemoryEvaluatorHookOptions>;
using AnyHook = OneOf<AnyHookTypes>;

// A saving listener that runs commands; each is a program and its arguments, as ExecHook's.
struct CheckpointSaverListenerOptions : CommandOptions {
  static constexpr std::string_view kType = "CheckpointSaverListener";
  static constexpr std::string_view kSummary = "runs a command around each save";
  std::vector<std::string> begin;
  std::vector<std::string> before_save;
  std::vector<std::string> after_save;
  std::vector<std::string> end;

  template <class V>
  void Visit(V& v) {
    v("begin", begin, {.help = "command before the first step", .tpuest = true});
    v("before_save", before_save, {.help = "command before a checkpoint", .tpuest = true});
    v("after_save", after_save, {.help = "command after a checkpoint", .tpuest = true});
    v("end", end, {.help = "command after the last checkpoint", .tpuest = true});
    VisitCheck(v);
  }
};
using AnySavingListener = std::variant<CheckpointSaverListenerOptions>;

// All faults, with keys below `section` ("train_spec.hooks").
[[nodiscard]] std::vector<Fault> ValidateHooks(const std::vector<AnyHook>& hooks,
                                               std::string_view section);
[[nodiscard]] std::vector<Fault> ValidateHooks(const std::vector<AnyEvalHook>& hooks,
                                               std::string_view section);
[[nodiscard]] std::vector<Fault> ValidateHooks(const std::vector<AnyPredictHook>& hooks,
                                               std::string_view section);
[[nodiscard]] std::vector<Fault> ValidateListeners(const std::vector<AnySavingListener>& listeners,
                                                   std::string_view section);

extern template class OneOf<AnyHookTypes>;

}  // namespace tpuest
