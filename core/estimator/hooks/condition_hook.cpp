#include "core/estimator/hooks/condition_hook.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/nn/formula/formula.h"

namespace tpuest {
namespace {

constexpr size_t kKept = 3;  // numbers per hook in ResumePoint::conditions

// Throws Error kUsage for an unknown name in the formula.
void CheckNames(const Formula& formula, const std::vector<std::string>& known) {
  for (const std::string& name : nn::NamesIn(formula)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = Nearest(name, known);
    throw Error(Code::kUsage, fmt::format("the run has no number '{}'", name),
                near ? fmt::format("did you mean '{}'?", *near) : "there are: " + Join(known, ", "))
        .At(formula.place);
  }
}

}  // namespace

bool Holds(const Formula& formula, const config::Parameters& values) {
  try {
    return config::IsTrue(config::Evaluate(formula.text, values));
  } catch (const config::FormulaError& error) {
    const int width = formula.verbatim ? static_cast<int>(error.width) : 1;
    throw Error(Code::kUsage, std::vector<Fault>{{error.message, error.hint, "",
                                                  PlaceIn(formula, error.at), width}});
  }
}

void ConditionHook::Begin(HookHome& home) {
  home_ = &home;
  runner_.Attach(home);
  state_ = {};
  if (home.resume == nullptr) return;
  place_ = kKept * home.conditions++;
  Restore();
}

// Restores steps, average, and the results of the condition as bits.
void ConditionHook::Restore() {
  std::vector<double>& kept = home_->resume->conditions;
  if (place_ + kKept > kept.size()) {
    kept.resize(place_ + kKept);
    return;
  }
  const auto truths = static_cast<int>(kept[place_ + 2]);
  state_ = {.steps = kept[place_],
            .average = kept[place_ + 1],
            .holds = (truths & 1) != 0,
            .is_due = (truths & 2) != 0,
            .has_stopped = (truths & 4) != 0};
}

void ConditionHook::Keep() const {
  if (home_->resume == nullptr) return;
  std::vector<double>& kept = home_->resume->conditions;
  if (place_ + kKept > kept.size()) return;  // the run is complete
  const int truths =
      (state_.holds ? 1 : 0) + (state_.is_due ? 2 : 0) + (state_.has_stopped ? 4 : 0);
  kept[place_] = state_.steps;
  kept[place_ + 1] = state_.average;
  kept[place_ + 2] = truths;
}

void ConditionHook::AfterCreateSession(const SessionInfo& session) {
  tags_.assign(session.summary_tags.begin(), session.summary_tags.end());
  has_learning_rate_ = session.has_learning_rate;
  has_loss_ = session.predictions.empty();
  global_step_ = session.global_step;
  std::vector<std::string> known = {"step", "global_step"};
  if (has_loss_) known.insert(known.begin(), {"loss", "loss_average"});
  if (has_learning_rate_) known.emplace_back("learning_rate");
  known.insert(known.end(), tags_.begin(), tags_.end());
  CheckNames(options_.when, known);
  const std::vector<std::string> names = nn::NamesIn(options_.when);
  names_summaries_ = std::any_of(tags_.begin(), tags_.end(), [&](const std::string& tag) {
    return std::find(names.begin(), names.end(), tag) != names.end();
  });
}

void ConditionHook::BeforeRun(RunContext& context) {
  if (names_summaries_) context.RequestSummaries();
  if (!state_.has_stopped) return;
  context.LimitIterations(0);
  context.RequestStop("ConditionHook");
}

void ConditionHook::AfterRun(RunContext& context, const RunValues& values) {
  for (const StepRecord& record : values.steps) Look(record);
  if (state_.is_due && !values.is_cut) Act(context, values.global_step);
  Keep();
}

config::Parameters ConditionHook::ValuesOf(const StepRecord& record) const {
  const double loss = record.loss;
  config::Parameters values;
  const auto set = [&](const std::string& name, auto value) {
    values.insert_or_assign(name, config::Literal{value});
  };
  for (size_t i = 0; i < std::min(tags_.size(), record.summaries.size()); ++i) {
    set(tags_[i], static_cast<double>(record.summaries[i]));
  }
  if (record.learning_rate) {
    set("learning_rate", static_cast<double>(*record.learning_rate));
  }
  if (has_loss_) {
    set("loss", loss);
    set("loss_average", state_.steps > 0 ? state_.average : loss);
  }
  set("step", record.step);
  set("global_step", home_->trains() ? record.step : global_step_);
  return values;
}

void ConditionHook::Look(const StepRecord& record) {
  const bool holds = Holds(options_.when, ValuesOf(record));
  state_.is_due = state_.is_due || (holds && !state_.holds);
  state_.holds = holds;
  state_.steps += 1;
  // The mean of all steps, and of about average_steps once there are that many.
  const double among = std::min(state_.steps, static_cast<double>(options_.average_steps));
  state_.average += (static_cast<double>(record.loss) - state_.average) / among;
}

void ConditionHook::Act(RunContext& context, int64_t global_step) {
  state_.is_due = false;
  home_->log.Info("ConditionHook: {} at step {}: {}", options_.when.text, global_step,
                  options_.action);
  if (options_.action == "stop") {
    state_.has_stopped = true;
    context.RequestStop("ConditionHook");
  } else if (options_.action == "save") {
    context.RequestSave();
  } else if (const auto reason =
                 runner_.Run(options_.command, {.name = "condition", .global_step = global_step})) {
    state_.has_stopped = true;
    context.RequestStop(*reason);
  }
}

}  // namespace tpuest
