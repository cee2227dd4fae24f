#include "core/estimator/hooks/early_stopping.h"

#include <cctype>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/hooks/condition_hook.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/events/event_reader.h"

namespace tpuest {
namespace {

double MetricOf(const std::map<std::string, double>& metrics, const std::string& name,
                int64_t step) {
  const auto found = metrics.find(name);
  if (found != metrics.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : metrics) names.push_back(known);
  throw Error(Code::kUsage, fmt::format("the evaluation at step {} has no metric '{}'", step, name),
              fmt::format("there are: {}", Join(names, ", ")))
      .Key("train_spec.hooks");
}

bool IsBetter(double value, double than, bool higher_is_better) {
  return higher_is_better ? value > than : value < than;
}

}  // namespace

EvalMetricsBySteps ReadEvalMetrics(const std::string& eval_dir, Log& log,
                                   const BelievedFn& believed) {
  EvalMetricsBySteps result;
  for (const std::string& path : EventFiles(eval_dir)) {
    EventReader reader(path);
    EventData event;
    while (reader.Next(event)) {
      if (event.values.empty()) continue;
      if (believed && !believed(event.step, path, reader.offset())) continue;
      for (const SummaryValue& value : event.values) {
        const auto* const scalar = std::get_if<float>(&value.value);
        if (scalar != nullptr) result[event.step][value.tag] = *scalar;
      }
    }
    if (reader.damage().empty()) continue;
    log.Warning(
        "Skipping rest of the file due to encountering data corruption error; file path: {}; "
        "original error raised by the reader: {}",
        path, reader.damage());
  }
  return result;
}

bool ThresholdCrossed(const EvalMetricsBySteps& metrics, const ThresholdRule& rule, Log& log) {
  for (const auto& [step, values] : metrics) {
    if (step < rule.min_steps) continue;
    const double value = MetricOf(values, rule.metric_name, step);
    if (!IsBetter(value, rule.threshold, rule.higher_is_better)) continue;
    log.Info(
        "At step {}, metric \"{}\" has value {} which is {} the configured threshold ({}) for "
        "early stopping.",
        step, rule.metric_name, NumberText(value),
        rule.higher_is_better ? "greater than" : "less than", NumberText(rule.threshold));
    return true;
  }
  return false;
}

bool ImprovementEnded(const EvalMetricsBySteps& metrics, const ImprovementRule& rule, Log& log) {
  std::optional<double> best;
  int64_t best_step = 0;
  for (const auto& [step, values] : metrics) {
    if (step < rule.min_steps) continue;
    const double value = MetricOf(values, rule.metric_name, step);
    const double margin = rule.higher_is_better ? rule.min_delta : -rule.min_delta;
    if (!best || IsBetter(value, *best + margin, rule.higher_is_better)) {
      best = value;
      best_step = step;
    }
    if (step - best_step < rule.max_steps_without_improvement) continue;
    log.Info(
        "No {} in metric \"{}\" for {} steps, which is greater than or equal to max steps ({}) "
        "configured for early stopping.",
        rule.higher_is_better ? "increase" : "decrease", rule.metric_name, step - best_step,
        rule.max_steps_without_improvement);
    return true;
  }
  return false;
}

bool FormulaStops(const EvalMetricsBySteps& metrics, const Formula& should_stop, int64_t min_steps,
                  Log& log) {
  for (const auto& [step, values] : metrics) {
    if (step < min_steps) continue;
    config::Parameters numbers;
    for (const auto& [name, value] : values) {
      std::string word = name;
      for (char& c : word) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      numbers.insert_or_assign(word, config::Literal{value});
    }
    numbers.insert_or_assign("global_step", config::Literal{step});
    if (!Holds(should_stop, numbers)) continue;
    log.Info("At step {}, {} holds for early stopping.", step, should_stop.text);
    return true;
  }
  return false;
}

EarlyStoppingHook::EarlyStoppingHook(const EarlyStoppingOptions& options, ShouldStop should_stop)
    : options_(options),
      should_stop_(std::move(should_stop)),
      timer_(options.run_every_steps, options.run_every_secs) {}

void EarlyStoppingHook::Begin(HookHome& home) {
  home_ = &home;
  if (!options_.eval_dir) options_.eval_dir = EvalDir(home.model_dir, options_.eval.value_or(""));
  if (options_.run_every_steps && home.resume != nullptr) TakeLook(home);
}

void EarlyStoppingHook::TakeLook(HookHome& home) {
  std::vector<int64_t>& looks = home.resume->looks;
  look_ = home.looks++;
  knows_look_ = *look_ < looks.size();
  if (!knows_look_) looks.resize(*look_ + 1, -1);
  if (looks[*look_] >= 0) timer_.Trigger(looks[*look_], home.clock.Seconds());
}

void EarlyStoppingHook::AfterCreateSession(const SessionInfo& session) {
  start_step_ = session.global_step;
  goes_on_ = session.restored && !session.within_loop;
  start_sizes_.clear();
  for (const std::string& path : EventFiles(*options_.eval_dir)) {
    start_sizes_[path] = static_cast<uint64_t>(FileSize(path));
  }
}

void EarlyStoppingHook::BeforeRun(RunContext& context) {
  if (!std::exchange(goes_on_, false)) return;
  const int64_t step = context.global_step();
  if (knows_look_) {
    const bool looked = timer_.last_step() == step;
    if (step == 0 || (!looked && !timer_.IsDue(step, home_->clock.Seconds()))) return;
    Trigger(step);
  }
  if (StopsAt(step, context)) context.LimitIterations(0);
}

void EarlyStoppingHook::AfterRun(RunContext& context, const RunValues& values) {
  CheckMetric();
  const bool is_over = context.stop_reason().has_value();
  if (is_over || values.diverged) return;
  if (!timer_.IsDue(values.global_step, home_->clock.Seconds())) return;
  Trigger(values.global_step);
  std::ignore = StopsAt(values.global_step, context);
}

void EarlyStoppingHook::Trigger(int64_t global_step) {
  timer_.Trigger(global_step, home_->clock.Seconds());
  if (look_) home_->resume->looks[*look_] = global_step;
}

// Evaluations follow a saved checkpoint.
void EarlyStoppingHook::CheckMetric() {
  if (has_metric_ || home_->saver == nullptr || home_->saver->last_step() == looked_at_) return;
  looked_at_ = home_->saver->last_step();
  const EvalMetricsBySteps metrics = Believed();
  if (metrics.empty()) return;
  has_metric_ = true;
  if (options_.metric_name.empty()) return;
  std::ignore = MetricOf(metrics.rbegin()->second, options_.metric_name, metrics.rbegin()->first);
}

EvalMetricsBySteps EarlyStoppingHook::Believed() const {
  const auto is_new = [&](const std::string& path, uint64_t offset) {
    const auto before = start_sizes_.find(path);
    return before == start_sizes_.end() || offset >= before->second;
  };
  return ReadEvalMetrics(*options_.eval_dir, home_->log,
                         [&](int64_t step, const std::string& path, uint64_t offset) {
                           return step <= start_step_ || is_new(path, offset);
                         });
}

bool EarlyStoppingHook::StopsAt(int64_t global_step, RunContext& context) {
  if (!should_stop_(Believed(), home_->log)) return false;
  home_->log.Info("Requesting early stopping at global step {}", global_step);
  context.RequestStop("early_stopping");
  return true;
}

}  // namespace tpuest
