#include "core/estimator/eval_runner.h"

#include "core/base/process/heap.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {
namespace {

// The metrics as floats, as in events; omits metrics with several numbers.
std::map<std::string, float> Numbers(const std::map<std::string, Tensor>& metrics) {
  std::map<std::string, float> numbers;
  for (const auto& [name, value] : metrics) {
    if (value.dtype() == DType::kString || value.elements() != 1) continue;
    numbers[name] = static_cast<float>(value.AsDouble(0));
  }
  return numbers;
}

}  // namespace

EvalRunner::EvalRunner(EvalRunnerArgs args) : args_(std::move(args)) {
  for (size_t i = 0; i < args_.tasks.size(); ++i) {
    const EvalTask& task = args_.tasks[i];
    if (Judges(i)) {
      best_.emplace(args_.context.model_dir, *args_.context.options.run_config.keep_best,
                    task.label, args_.context.home.fsync,
                    args_.context.options.run_config.keep_checkpoint_max.value_or(0) > 0);
    }
    auto& exporters = exporters_.emplace_back();
    for (const ExporterTask& exporter : task.exporters) {
      exporters.push_back(MakeExporter(exporter.options, args_.context.home.log));
    }
  }
}

bool EvalRunner::Judges(size_t task) const {
  const std::optional<KeepBest>& keep = args_.context.options.run_config.keep_best;
  if (!keep) return false;
  return keep->eval ? args_.tasks[task].label == *keep->eval : task == 0;
}

void EvalRunner::GoOnFrom(int64_t step, const std::set<std::string>& again) {
  const std::string& model_dir = args_.context.model_dir;
  if (!again.empty()) MetricsLog(model_dir).CutEvaluationsAt(step, again);
  for (size_t task = 0; task < args_.tasks.size(); ++task) {
    const int64_t last = again.contains(args_.tasks[task].label) ? step - 1 : step;
    for (const auto& exporter : exporters_[task]) {
      RemoveLaterExports(model_dir, exporter->name(), last, args_.context.home.log);
    }
    if (best_ && Judges(task)) best_->Mend(last, args_.context.home.log);
  }
  if (best_) best_->ForgetAfter(step);
}

const EvaluateResult& EvalRunner::Run(size_t task, const std::string& checkpoint) {
  const EvalTask& of = args_.tasks[task];
  EvaluateArgs evaluate = of.args;
  evaluate.checkpoint = checkpoint;
  evaluate.label = of.label;
  if (of.hooks != nullptr) evaluate.hooks = of.hooks->hooks();
  EvaluateResult& result = results_[of.label];
  result = args_.evaluator.Evaluate(of.input_fn, evaluate);
  const Evaluated evaluated{.model_dir = args_.context.model_dir,
                            .label = of.label,
                            .global_step = result.global_step,
                            .metrics = Numbers(result.metrics),
                            .is_the_final_export = IsLast(result.global_step)};
  KeepIfBest(task, evaluated, checkpoint);
  Export(task, evaluated, checkpoint);
  // The next evaluation comes later, and its input may be as large as the training's.
  ReturnFreeMemory();
  return result;
}

void EvalRunner::Export(size_t task, const Evaluated& evaluated, const std::string& checkpoint) {
  for (size_t i = 0; i < exporters_[task].size(); ++i) {
    Exporter& exporter = *exporters_[task][i];
    const std::optional<std::string> folder = exporter.FolderFor(evaluated);
    if (!folder) continue;
    ExportArgs args = args_.tasks[task].exporters[i].args;
    args.export_dir_base = *folder;
    args.is_newest = true;
    args.checkpoint = checkpoint;
    exports_[exporter.name()] = args_.saved_models.Write(args).path;
    exporter.AfterExport(evaluated);
  }
}

void EvalRunner::KeepIfBest(size_t task, const Evaluated& evaluated,
                            const std::string& checkpoint) {
  if (!Judges(task)) return;
  const KeepBest& keep = *args_.context.options.run_config.keep_best;
  const auto found = evaluated.metrics.find(keep.metric);
  if (found == evaluated.metrics.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : evaluated.metrics) names.push_back(name);
    throw Error(Code::kUsage,
                fmt::format("keep_best: the evaluation has no metric '{}'", keep.metric),
                fmt::format("there are: {}", Join(names, ", ")))
        .Key("run_config.keep_best.metric");
  }
  if (!CheckpointExists(checkpoint)) return;  // another process has removed it
  best_->Offer(checkpoint, evaluated.global_step, found->second);
}

}  // namespace tpuest
