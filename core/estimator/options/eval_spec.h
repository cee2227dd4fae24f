#pragma once
// EvalSpec of train_and_evaluate, one or several by name, and the exporters it lists.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/step_count.h"
#include "core/base/visit.h"
#include "core/estimator/contract/metric_order.h"
#include "core/estimator/options/export_options.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// The exporter's own receiver, or "default": the job's, from its `export`.
using ExporterReceiver =
    std::variant<std::string, ParsingReceiver, RawReceiver, BothReceivers, ImageBytesReceiver>;

// The arguments that tf.estimator's exporters share.
struct ExporterOptions {
  std::string name;
  ExporterReceiver serving_input_receiver_fn = "default";
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;

  template <class V>
  void VisitCommon(V& v) {
    v("serving_input_receiver_fn", serving_input_receiver_fn,
      {.help = "input format of requests; default: that of `export`", .values = {"default"}});
    v("assets_extra", assets_extra,
      {.help = "files to copy to assets.extra/, keyed by their path there", .input_path = true});
    v("as_text", as_text, {.help = "write saved_model.pbtxt instead of saved_model.pb"});
  }
};

struct LatestExporterOptions : ExporterOptions {
  static constexpr std::string_view kType = "LatestExporter";
  static constexpr std::string_view kSummary = "exports a SavedModel after each evaluation";
  std::optional<int64_t> exports_to_keep = 5;

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = "name of the exporter's folder in export/", .required = true});
    v("exports_to_keep", exports_to_keep, {.help = "newest exports to keep; `null` keeps all"});
    VisitCommon(v);
  }
};
struct BestExporterOptions : ExporterOptions {
  static constexpr std::string_view kType = "BestExporter";
  static constexpr std::string_view kSummary =
      "exports a SavedModel whenever a metric reaches a new best";
  BestExporterOptions() { name = "best_exporter"; }
  MetricOrder compare;
  std::optional<int64_t> exports_to_keep = 5;

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = "name of the exporter's folder in export/"});
    v("compare", compare,
      {.help = "metric to compare and its direction; default: the smaller loss"});
    v("exports_to_keep", exports_to_keep, {.help = "newest exports to keep; `null` keeps all"});
    VisitCommon(v);
  }
};
struct FinalExporterOptions : ExporterOptions {
  static constexpr std::string_view kType = "FinalExporter";
  static constexpr std::string_view kSummary = "exports a SavedModel when training ends";

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = "name of the exporter's folder in export/", .required = true});
    VisitCommon(v);
  }
};
using AnyExporter = std::variant<LatestExporterOptions, BestExporterOptions, FinalExporterOptions>;

// tf.estimator.EvalSpec, as a job writes it.
struct EvalSpec {
  std::string input_fn;
  std::optional<int64_t> steps;
  std::optional<std::string> name;
  int64_t start_delay_secs = 0;
  int64_t throttle_secs = 0;
  std::optional<StepCount> every_steps;
  std::vector<AnyEvalHook> hooks;
  std::vector<AnyExporter> exporters;

  template <class V>
  void Visit(V& v) {
    v("input_fn", input_fn, {.help = "name of one of input_fns", .required = true});
    v("steps", steps, {.help = "number of batches; `null` reads the whole input once"});
    v("name", name,
      {.help = "write events to eval_<name>/; `null` takes the key of this eval_spec, or eval/ if "
               "there is only one without a key"});
    v("start_delay_secs", start_delay_secs,
      {.help = "seconds that a separate evaluator waits before its first evaluation"});
    v("throttle_secs", throttle_secs,
      {.help = "minimum seconds between evaluations of train_and_evaluate"});
    v("every_steps", every_steps,
      {.help = "evaluate the first checkpoint at or after each multiple of this many steps; `null` "
               "evaluates every checkpoint",
       .tpuest = true});
    v("hooks", hooks, {.help = "SessionRunHooks to call during the evaluation, in this order"});
    v("exporters", exporters,
      {.help = "exporters to run after each evaluation of train_and_evaluate"});
  }
};

// One EvalSpec, or several by name.
using EvalSpecs = std::variant<EvalSpec, std::map<std::string, EvalSpec>>;

// One EvalSpec with its names.
struct NamedEvalSpec {
  const EvalSpec* spec = nullptr;
  std::string key;  // in the job: "eval_spec" or "eval_spec.test"
  // in results and metrics.jsonl: its key if there are several, its name, or "eval"
  std::string label;
  std::string name;  // names the folder of its events: see EvalFolderName
};
// Returns the folder of an evaluation's events, below model_dir: eval_<name>, or eval without a
// name.
[[nodiscard]] std::string EvalFolderName(std::string_view name);
// Returns the EvalSpecs in the order of their keys; they point into `specs`.
[[nodiscard]] std::vector<NamedEvalSpec> SpecsOf(const EvalSpecs& specs);

// Returns all faults, with TensorFlow's messages and their keys ("eval_spec.test.throttle_secs").
[[nodiscard]] std::vector<Fault> Validate(const EvalSpecs& specs);

// The options that all exporters share.
[[nodiscard]] const ExporterOptions& CommonOf(const AnyExporter& exporter);

}  // namespace tpuest
