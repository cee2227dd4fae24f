#include "core/estimator/hooks/logging_tensor_hook.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/estimator/hooks/train_hooks.h"

namespace tpuest {
namespace {

constexpr int64_t kMostPrinted = 1000;  // most elements to print of a tensor, as in NumPy

// Formats "0.5" or "[0.5 1.0]" as NumPy prints an array's elements, on one line.
std::string TensorText(const Tensor& tensor) {
  const auto element = [&](int64_t i) {
    if (tensor.dtype() == DType::kString)
      return fmt::format("'{}'", tensor.strings()[static_cast<size_t>(i)]);
    return tensor.dtype() == DType::kFloat ? PythonFloat(tensor.data<float>()[i])
                                           : NumberText(tensor.AsDouble(i));
  };
  if (tensor.shape().rank() == 0) return element(0);
  std::vector<std::string> parts;
  const int64_t count = tensor.elements();
  for (int64_t i = 0; i < std::min(count, kMostPrinted); ++i) parts.push_back(element(i));
  if (count > kMostPrinted) parts.emplace_back("...");
  return fmt::format("[{}]", Join(parts, " "));
}

std::string WithoutIndex(const std::string& name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

}  // namespace

LoggingTensorHook::LoggingTensorHook(const LoggingTensorHookOptions& options)
    : periodic_(options.every_n_iter || options.every_n_secs),
      at_end_(options.at_end),
      timer_(options.every_n_iter, options.every_n_secs) {
  if (const auto* const names = std::get_if<0>(&options.tensors)) {
    for (const std::string& name : *names) tensors_.emplace_back(name, WithoutIndex(name));
  } else {
    for (const auto& [tag, name] : std::get<1>(options.tensors)) {
      tensors_.emplace_back(tag, WithoutIndex(name));
    }
  }
}

void LoggingTensorHook::Begin(HookHome& home) {
  home_ = &home;
  variables_.clear();
  for (const auto& [tag, name] : tensors_) {
    if (name == "global_step") continue;
    if (const Variable* const variable = home.graph.graph().FindVariable(name)) {
      variables_[name] = variable->value;
    }
  }
}

void LoggingTensorHook::AfterCreateSession(const SessionInfo& session) {
  evaluated_step_.reset();
  if (!home_->trains()) {
    evaluated_step_ = session.global_step;
    timer_.Reset();  // each evaluation counts its own batches
  }
  tags_.assign(session.summary_tags.begin(), session.summary_tags.end());
  predictions_ = session.predictions;
  last_.reset();
  std::vector<std::string> known = {"global_step"};
  if (predictions_.empty()) known.insert(known.begin(), "loss");
  if (session.has_learning_rate) known.emplace_back("learning_rate");
  known.insert(known.end(), tags_.begin(), tags_.end());
  known.insert(known.end(), predictions_.begin(), predictions_.end());
  shows_summaries_ = false;
  for (const auto& [tag, name] : tensors_) {
    if (std::find(tags_.begin(), tags_.end(), name) != tags_.end()) shows_summaries_ = true;
    if (variables_.contains(name) || std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    throw Error(Code::kUsage,
                fmt::format("The name '{}' refers to a Tensor which does not exist. The operation, "
                            "'{}', does not exist in the graph.",
                            tag, name),
                fmt::format("there are: {}, and the variables", Join(known, ", ")))
        .Key(!predictions_.empty() ? "predict.hooks"
             : evaluated_step_     ? "eval_spec.hooks"
                                   : "train_spec.hooks");
  }
}

// A variable is read after a loop, so the loop must end at the step that prints one.
void LoggingTensorHook::BeforeRun(RunContext& context) {
  if (shows_summaries_) context.RequestSummaries();
  if (variables_.empty() || timer_.period() == 0 || !home_->trains()) return;
  const std::optional<int64_t> last = timer_.last_step();
  context.LimitIterations(last ? *last + timer_.period() - context.global_step() : 1);
}

void LoggingTensorHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  for (const StepRecord& record : values.steps) {
    if (periodic_ && timer_.IsDue(record.step, record.seconds)) Write(record);
  }
  if (values.steps.empty()) return;
  last_ = values.steps.back();
  last_summaries_.assign(last_->summaries.begin(), last_->summaries.end());
  last_->summaries = last_summaries_;
  if (home_->predictions != nullptr && at_end_) last_predictions_ = *home_->predictions;
}

void LoggingTensorHook::End(int64_t /*global_step*/) {
  if (at_end_ && last_) Write(*last_);
}

void LoggingTensorHook::Write(const StepRecord& record) {
  std::vector<std::string> parts;
  for (const auto& [tag, name] : tensors_) {
    parts.push_back(fmt::format("{} = {}", tag, TextOf(name, record)));
  }
  const std::string text = Join(parts, ", ");
  if (timer_.last_step()) {
    home_->log.Info("{} ({:.3f} sec)", text, record.seconds - timer_.last_seconds());
  } else {
    home_->log.Info("{}", text);
  }
  timer_.Trigger(record.step, record.seconds);
}

std::string LoggingTensorHook::TextOf(const std::string& tensor, const StepRecord& record) {
  if (tensor == "loss") return PythonFloat(record.loss);
  if (tensor == "global_step") return std::to_string(evaluated_step_.value_or(record.step));
  if (tensor == "learning_rate" && record.learning_rate) return PythonFloat(*record.learning_rate);
  if (std::find(predictions_.begin(), predictions_.end(), tensor) != predictions_.end()) {
    const bool is_at_end = home_->predictions == nullptr;
    return TensorText((is_at_end ? last_predictions_ : *home_->predictions).at(tensor));
  }
  const auto tag = std::find(tags_.begin(), tags_.end(), tensor);
  if (tag != tags_.end()) {
    return PythonFloat(record.summaries[static_cast<size_t>(tag - tags_.begin())]);
  }
  return TensorText(home_->graph.Run({variables_.at(tensor)}).front());
}

}  // namespace tpuest
