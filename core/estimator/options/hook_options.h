#pragma once
// The hooks that a job can name, with TensorFlow's names, arguments and rules. To add one, add a
// struct here and in AnyHook, and a row in hook_factory.cpp.

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
    v("num_steps", num_steps,
      {.help = "steps after which to stop, counted from the start of this run"});
    v("last_step", last_step, {.help = "global step at which to stop"});
  }
};

inline constexpr std::string_view kOutputDirHelp = "folder of its events; `null` is model_dir";

struct CheckpointSaverHookOptions {
  static constexpr std::string_view kType = "CheckpointSaverHook";
  static constexpr std::string_view kSummary = "saves a checkpoint every N steps or seconds";
  std::optional<int64_t> save_secs;
  std::optional<StepCount> save_steps;

  template <class V>
  void Visit(V& v) {
    v("save_secs", save_secs, {.help = "seconds between checkpoints"});
    v("save_steps", save_steps,
      {.help = "steps between checkpoints; this hook replaces the interval of run_config"});
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
      {.help =
           "loss, learning_rate, global_step, tags of summaries, or variables; or {name: tensor}",
       .required = true});
    v("every_n_iter", every_n_iter, {.help = "steps between log lines"});
    v("every_n_secs", every_n_secs, {.help = "seconds between log lines"});
    v("at_end", at_end, {.help = "also write a line when the run ends"});
  }
};

struct StepCounterHookOptions {
  static constexpr std::string_view kType = "StepCounterHook";
  static constexpr std::string_view kSummary = "records the steps per second";
  std::optional<StepCount> every_n_steps = 100;
  std::optional<double> every_n_secs;
  std::optional<std::string> output_dir;

  template <class V>
  void Visit(V& v) {
    v("every_n_steps", every_n_steps, {.help = "minimum steps between records"});
    v("every_n_secs", every_n_secs,
      {.help = "seconds between records; set every_n_steps to null to use it"});
    v("output_dir", output_dir, {.help = kOutputDirHelp});
  }
};

// The period of a hook that writes at intervals of steps or seconds.
struct SaveTimes {
  std::optional<StepCount> save_steps;
  std::optional<double> save_secs;

  // `help` is the help of save_steps.
  template <class V>
  void VisitTimes(V& v, std::string_view help) {
    v("save_steps", save_steps, {.help = help});
    v("save_secs", save_secs, {.help = "seconds between records"});
  }
};

struct SummarySaverHookOptions : SaveTimes {
  static constexpr std::string_view kType = "SummarySaverHook";
  static constexpr std::string_view kSummary = "records summaries every N steps or seconds";
  std::optional<std::string> output_dir;

  template <class V>
  void Visit(V& v) {
    VisitTimes(v, "steps from one event to the next");
    v("output_dir", output_dir, {.help = kOutputDirHelp});
  }
};

struct NanTensorHookOptions {
  static constexpr std::string_view kType = "NanTensorHook";
  static constexpr std::string_view kSummary = "ends the run if the loss is NaN";
  bool fail_on_nan_loss = true;

  template <class V>
  void Visit(V& v) {
    v("fail_on_nan_loss", fail_on_nan_loss,
      {.help = "`false` ends the run without an error if the loss is NaN"});
  }
};

struct ProfilerHookOptions : SaveTimes {
  static constexpr std::string_view kType = "ProfilerHook";
  static constexpr std::string_view kSummary = "records traces of steps for TensorBoard";
  std::string output_dir;

  template <class V>
  void Visit(V& v) {
    VisitTimes(v, "steps from one trace to the next");
    v("output_dir", output_dir,
      {.help = "folder for timeline-<step>.json, which Chrome and Perfetto open"});
  }
};

// The option that all hooks with commands share.
struct CommandOptions {
  bool check = false;

  template <class V>
  void VisitCheck(V& v) {
    v("check", check,
      {.help = "`true` ends the run if the command's exit code is not 0; `false` only warns",
       .tpuest = true});
  }
};

struct ExecHookOptions : CommandOptions {
  static constexpr std::string_view kType = "ExecHook";
  static constexpr std::string_view kSummary = "runs a command at events and passes it values";
  std::vector<std::string> on;
  std::vector<std::string> command;

  template <class V>
  void Visit(V& v) {
    v("on", on,
      {.help = "events that run the command: `begin`, `end`; also `checkpoint_saved` in train_spec "
               "and `evaluated` in eval_spec",
       .required = true,
       .tpuest = true});
    v("command", command,
      {.help = "program and its arguments, in which {model_dir}, {checkpoint} and {global_step} "
               "are replaced; it reads one line of JSON and may answer {\"stop\": REASON}",
       .required = true,
       .tpuest = true});
    VisitCheck(v);
  }
};

// Acts once a formula over the numbers of the steps becomes true.
struct ConditionHookOptions : CommandOptions {
  static constexpr std::string_view kType = "ConditionHook";
  static constexpr std::string_view kSummary =
      "stops, saves a checkpoint or runs a command when a formula is true";
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
      {.help = "action when the formula becomes true",
       .required = true,
       .tpuest = true,
       .values = {"stop", "save", "command"}});
    v("command", command,
      {.help = "of `do: command`: the command, as in ExecHook", .tpuest = true});
    v("average_steps", average_steps,
      {.help = "approximate number of recent steps that loss_average covers", .tpuest = true});
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
    v("arguments", arguments,
      {.help = "text values by name, passed to the library", .tpuest = true});
  }
};

// tf.estimator.experimental.make_stop_at_checkpoint_step_hook. Every process of a group trains, so
// all of them stop at that step.
struct StopAtCheckpointStepOptions {
  static constexpr std::string_view kType = "make_stop_at_checkpoint_step_hook";
  static constexpr std::string_view kSummary =
      "ends training at the first checkpoint at or after a step";
  StepCount last_step = 0;

  template <class V>
  void Visit(V& v) {
    v("last_step", last_step, {.help = "global step at which to stop", .required = true});
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
    v("metric_name", metric_name, {.help = "metric of the evaluations to watch", .required = true});
    VisitLooks(v);
  }
  template <class V>
  void VisitLooks(V& v) {
    v("eval_dir", eval_dir,
      {.help = "folder with the evaluation events; `null` is model_dir/eval"});
    v("eval", eval,
      {.help = "name of the evaluation, which selects model_dir/eval_<name>", .tpuest = true});
    v("min_steps", min_steps, {.help = "ignore evaluations before this global step"});
    v("run_every_secs", run_every_secs, {.help = "seconds between checks of the evaluations"});
    v("run_every_steps", run_every_steps,
      {.help = "steps between checks of the evaluations; set run_every_secs to null to use it"});
  }
};

// The direction in which a metric moves.
enum class Direction { kHigher, kLower };

template <Direction stops>
struct StopIfCrossedOptions : EarlyStoppingOptions {
  static constexpr bool kHigher = stops == Direction::kHigher;
  static constexpr std::string_view kType = kHigher ? "stop_if_higher_hook" : "stop_if_lower_hook";
  static constexpr std::string_view kSummary =
      kHigher ? std::string_view("ends training when a metric is above a threshold")
              : "ends training when a metric is below a threshold";
  double threshold = 0;

  template <class V>
  void Visit(V& v) {
    VisitShared(v);
    v("threshold", threshold,
      {.help = kHigher ? "stop if the metric is above this value"
                       : "stop if the metric is below this value",
       .required = true});
  }
};
using StopIfHigherHookOptions = StopIfCrossedOptions<Direction::kHigher>;
using StopIfLowerHookOptions = StopIfCrossedOptions<Direction::kLower>;

// `better` is the direction in which the metric should move.
template <Direction better>
struct StopIfNoBetterOptions : EarlyStoppingOptions {
  static constexpr bool kHigher = better == Direction::kHigher;
  static constexpr std::string_view kType =
      kHigher ? "stop_if_no_increase_hook" : "stop_if_no_decrease_hook";
  static constexpr std::string_view kSummary =
      kHigher ? std::string_view("ends training when a metric has not risen for some steps")
              : "ends training when a metric has not fallen for some steps";
  StepCount max_steps_without = 0;
  double min_delta = 0;

  template <class V>
  void Visit(V& v) {
    VisitShared(v);
    v(kHigher ? "max_steps_without_increase" : "max_steps_without_decrease", max_steps_without,
      {.help = "steps after the best evaluation at which to stop", .required = true});
    v("min_delta", min_delta,
      {.help = kHigher ? "smallest change that counts as an increase, excluded"
                       : "smallest change that counts as a decrease, excluded",
       .tpuest = true});
  }
};
using StopIfNoIncreaseHookOptions = StopIfNoBetterOptions<Direction::kHigher>;
using StopIfNoDecreaseHookOptions = StopIfNoBetterOptions<Direction::kLower>;

// tf.estimator.experimental.make_early_stopping_hook, whose function is a formula.
struct EarlyStoppingFormulaOptions : EarlyStoppingOptions {
  static constexpr std::string_view kType = "make_early_stopping_hook";
  static constexpr std::string_view kSummary =
      "ends training when a formula of the metrics is true";
  Formula should_stop = {};

  template <class V>
  void Visit(V& v) {
    v("should_stop_fn", should_stop,
      {.help = "formula over global_step and the metrics of an evaluation by name; characters such "
               "as / are written _",
       .required = true});
    VisitLooks(v);
  }
};

// The hooks that eval_spec and predict may name: those that are useful although weights and the
// global step do not change.
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
      "evaluates during training with the weights in memory";
  std::string input_fn;
  std::optional<int64_t> steps;
  std::vector<AnyEvalHook> hooks;
  std::optional<std::string> name;
  StepCount every_n_iter = 100;

  template <class V>
  void Visit(V& v) {
    v("input_fn", input_fn, {.help = "name of one of input_fns", .required = true});
    v("steps", steps, {.help = "number of batches; `null` reads the whole input once"});
    v("hooks", hooks, {.help = "SessionRunHooks to call during the evaluation, in this order"});
    v("name", name, {.help = "write events to eval_<name>/; `null` is eval/"});
    v("every_n_iter", every_n_iter, {.help = "steps between evaluations"});
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

// A saving listener that runs commands; each is a program and its arguments, as in ExecHook.
struct CheckpointSaverListenerOptions : CommandOptions {
  static constexpr std::string_view kType = "CheckpointSaverListener";
  static constexpr std::string_view kSummary = "runs commands before and after each save";
  std::vector<std::string> begin;
  std::vector<std::string> before_save;
  std::vector<std::string> after_save;
  std::vector<std::string> end;

  template <class V>
  void Visit(V& v) {
    v("begin", begin, {.help = "command to run before the first step", .tpuest = true});
    v("before_save", before_save,
      {.help = "command to run before each checkpoint", .tpuest = true});
    v("after_save", after_save, {.help = "command to run after each checkpoint", .tpuest = true});
    v("end", end, {.help = "command to run after the last checkpoint", .tpuest = true});
    VisitCheck(v);
  }
};
using AnySavingListener = std::variant<CheckpointSaverListenerOptions>;

// Returns all faults, with keys below `section` ("train_spec.hooks").
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
