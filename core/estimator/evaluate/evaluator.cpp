#include "core/estimator/evaluate/evaluator.h"

#include <cstring>
#include <ctime>

#include "core/backend/rows/row_table.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/evaluate/group_batches.h"
#include "core/estimator/group/group_rows.h"
#include "core/estimator/hooks/train_hooks.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

[[noreturn]] void ThrowNoExamples() {
  throw Error(Code::kData, "the input of evaluate has no examples",
              "check its files, skip, take and filter");
}

// Formats the local time by a format of strftime.
std::string TimeText(double wall_seconds, const char* format) {
  const auto seconds = static_cast<std::time_t>(wall_seconds);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

// "accuracy = 0.7, global_step = 100, loss = 0.61", as tf.estimator logs a result.
std::string DictText(const EvaluateResult& result) {
  std::map<std::string, std::string> values;
  values["global_step"] = std::to_string(result.global_step);
  for (const auto& [name, value] : result.metrics) {
    if (value.dtype() == DType::kString || value.elements() != 1) continue;
    values[name] = value.dtype() == DType::kFloat ? PythonFloat(*value.data<float>())
                                                  : NumberText(value.AsDouble(0));
  }
  std::vector<std::string> items;
  for (const auto& [name, value] : values) items.push_back(fmt::format("{} = {}", name, value));
  return Join(items, ", ");
}

// True for counts of few enough classes to show as a table.
bool IsShownAsTable(const Tensor& metric) {
  constexpr int64_t kMostShown = 40;
  return metric.dtype() != DType::kString && metric.shape().rank() == 2 && metric.elements() > 1 &&
         metric.shape().dim(0) <= kMostShown && metric.shape().dim(1) <= kMostShown;
}

// A matrix as Markdown for TensorBoard's text plugin: rows are labels, columns are predictions.
std::string TableOf(const Tensor& matrix) {
  const int64_t rows = matrix.shape().dim(0);
  const int64_t columns = matrix.shape().dim(1);
  std::string text = "| label |";
  for (int64_t column = 0; column < columns; ++column) text += fmt::format(" as {} |", column);
  text += "\n|---|";
  for (int64_t column = 0; column < columns; ++column) text += "---|";
  for (int64_t row = 0; row < rows; ++row) {
    text += fmt::format("\n| {} |", row);
    for (int64_t column = 0; column < columns; ++column) {
      text += fmt::format(" {} |", NumberText(matrix.AsDouble(row * columns + column)));
    }
  }
  return text;
}

bool IsAmong(const std::map<std::string, Tensor>& tensors, const std::string& name,
             const Tensor& value) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return false;
  const Tensor& other = found->second;
  if (other.dtype() != value.dtype() || other.shape() != value.shape()) return false;
  if (value.dtype() == DType::kString) return false;
  return value.bytes() == 0 || std::memcmp(value.raw(), other.raw(), value.bytes()) == 0;
}

}  // namespace

EvaluateResult Evaluator::Evaluate(const InputFn& input_fn, const EvaluateArgs& args) {
  ThrowFaults(ValidateEvalSteps(args.steps, context_.OnTpu(Mode::kEval)));
  const int64_t batch_size = context_.BatchSize(Mode::kEval);
  const std::optional<SavedState> saved = model_.Find(args.checkpoint, OlderIf(args.allow_older));
  const uint64_t seed = context_.Seed(saved ? saved->resume : ResumePoint());
  const std::unique_ptr<BatchStream> stream = context_.OpenBatches(input_fn, Mode::kEval, seed);
  if (stream->endless() && !args.steps) {
    throw Error(Code::kUsage,
                "Evaluate `steps` must be set on an input without end. Cannot be `None`.",
                "eval_spec.steps=N, or repeat: 1 in the input_fn")
        .Key("eval_spec.steps");
  }
  const bool is_new = model_.Load(stream->spec(), saved, batch_size);
  if (is_new) metrics_.Forget();
  EvaluateResult result;
  result.global_step =
      *model_.variables().tensors().at(std::string(nn::kGlobalStepName)).data<int64_t>();
  if (saved) result.checkpoint = saved->prefix;
  if (context_.home.dry_run) {
    const std::optional<Batch> first = stream->Next();
    if (!first) ThrowNoExamples();
    (void)model_.Run(*first);
    context_.home.log.Info("Dry run: evaluate would read {}; nothing was written",
                           saved ? saved->prefix : "no checkpoint");
    return result;
  }
  GroupBatches in_group(context_.home.group, Mode::kEval);
  if (model_.is_spread()) {
    in_group.Start(OrderFor(args, seed), stream->files());
    DealRows(*context_.home.group, model_.variables());
  }
  InfeedArgs infeed_args{
      .stream = *stream, .clock = context_.home.clock, .stop = context_.home.stop};
  infeed_args.limit = args.steps;
  Infeed infeed(std::move(infeed_args));
  InferenceHooks hooks(
      context_, model_, args.hooks, model_.spec().evaluation_hooks, [&]() -> EventWriter& {
        return EventsIn(EvalDir(context_.model_dir, args.name), context_.home.clock.WallSeconds());
      });
  hooks.Begin(saved.has_value(), batch_size);
  Run(infeed, args, hooks, result);
  if (args.publish) Publish(args, result);
  hooks.End(&result.metrics);
  return result;
}

// The workers have trained the same variables, as the comparison before the checkpoint has
// verified, so most need not be sent.
EvaluateMessage Evaluator::OrderFor(const EvaluateArgs& args, uint64_t seed) const {
  EvaluateMessage message{.seed = seed,
                          .seeds_by_name = context_.seeds_by_name,
                          .label = args.label,
                          .trained = {},
                          .variables = {}};
  for (const auto& [name, value] : model_.variables().tensors()) {
    if (context_.in_memory && IsAmong(context_.in_memory->tensors, name, value)) {
      message.trained.push_back(name);
    } else {
      message.variables.emplace(name, value);
    }
  }
  for (const std::shared_ptr<RowTable>& table : model_.variables().tables().all()) {
    if (table->is_dealt_out()) message.trained.push_back(table->variables().front().name);
  }
  return message;
}

void Evaluator::FollowChief(const InputFn& input_fn, const EvaluateMessage& message,
                            std::vector<std::shared_ptr<RowTable>> tables) {
  FollowBatches(context_, model_, Mode::kEval,
                {.input_fn = input_fn,
                 .seed = message.seed,
                 .seeds_by_name = message.seeds_by_name,
                 .variables = message.variables,
                 .tables = std::move(tables)});
}

void Evaluator::Run(Infeed& infeed, const EvaluateArgs& args, InferenceHooks& hooks,
                    EvaluateResult& result) {
  const EstimatorHome& home = context_.home;
  metrics_.Reset();
  const double begin = home.clock.Seconds();
  home.log.Info("Starting evaluation at {}",
                TimeText(home.clock.WallSeconds(), "%Y-%m-%dT%H:%M:%S"));
  HostCallRunner host_call(home.backend, home.registry, home.log, context_.threads);
  summaries_.clear();
  double loss = 0;
  while (true) {
    if (home.group != nullptr) home.group->SetActivity(hosts::Activity::kInput);
    const std::vector<InfeedItem> items = infeed.Take(1);
    if (home.group != nullptr) home.group->SetActivity(hosts::Activity::kStep);
    if (home.stop.requested()) {
      ThrowStopped(home.stop, "evaluation", fmt::format(" after {} batches", result.batches));
    }
    if (items.empty()) break;
    const Batch& batch = items.front().batch;
    hooks.BeforeBatch();
    const InferenceModel::Output output = model_.Run(batch, hooks.trace());
    loss += output.values.front().AsDouble(0);
    const size_t of_metrics =
        output.spec.eval_metrics ? output.spec.eval_metrics->tensors.size() : 0;
    const auto tensors = std::span(output.values).subspan(1);
    if (output.spec.eval_metrics) {
      metrics_.Update(*output.spec.eval_metrics, tensors.subspan(0, of_metrics));
    }
    if (output.spec.host_call) {
      HostCallScalars scalars =
          host_call.Run(*output.spec.host_call, tensors.subspan(of_metrics), result.global_step);
      if (!scalars.values.empty()) summaries_.push_back(std::move(scalars));
    }
    result.examples += batch.example_weight.valid() ? batch.examples : RowsOf(batch);
    LogBatch(args, ++result.batches);
    if (hooks.AfterBatch(batch, static_cast<float>(output.values.front().AsDouble(0)))) break;
  }
  if (result.batches == 0) ThrowNoExamples();
  result.metrics = metrics_.Values();
  result.metrics.merge(model_.EvalMetricValues());
  // The loss is the mean over batches; a short batch counts as much as a full one.
  result.metrics["loss"] =
      Tensor::Scalar<float>(static_cast<float>(loss / static_cast<double>(result.batches)));
  home.log.Info("Inference Time : {:0.5f}s", home.clock.Seconds() - begin);
  home.log.Info("Finished evaluation at {}",
                TimeText(home.clock.WallSeconds(), "%Y-%m-%d-%H:%M:%S"));
}

// As in TensorFlow, logs every batch if there are fewer than 20, otherwise about ten of them.
void Evaluator::LogBatch(const EvaluateArgs& args, int64_t batches) {
  if (ProgressListener* const progress = context_.home.progress) {
    progress->Report({.activity = "eval", .step = batches, .goal = args.steps});
  }
  if (!args.steps) return;
  const int64_t every = *args.steps < 20 ? 1 : *args.steps / 10;
  if (batches % every == 0 || batches == *args.steps) {
    context_.home.log.Info("Evaluation [{}/{}]", batches, *args.steps);
  }
}

void Evaluator::Publish(const EvaluateArgs& args, const EvaluateResult& result) {
  const EstimatorHome& home = context_.home;
  const int64_t step = result.global_step;
  home.log.Info("Saving dict for global step {}: {}", step, DictText(result));
  const std::string named = args.name.empty() ? "eval" : args.name;
  const std::string label = args.label.empty() ? named : args.label;
  const double now = home.clock.WallSeconds();
  EventWriter& events = EventsIn(EvalDir(context_.model_dir, args.name), now);
  for (const HostCallScalars& of : summaries_) events.Summary(now, of.step, of.values);
  std::vector<SummaryValue> values;
  for (const auto& [name, value] : result.metrics) {
    if (value.dtype() == DType::kString) continue;
    if (value.elements() == 1) {
      values.push_back({.tag = name, .value = static_cast<float>(value.AsDouble(0))});
    } else {
      values.push_back({.tag = name, .value = value});
    }
  }
  events.Summary(now, step, values);
  for (const auto& [name, value] : result.metrics) {
    if (IsShownAsTable(value)) events.Text(now, step, name + "/table", {TableOf(value)});
  }
  if (!result.checkpoint.empty()) {
    home.log.Info("Saving 'checkpoint_path' summary for global step {}: {}", step,
                  result.checkpoint);
    events.String(now, step, "checkpoint_path", result.checkpoint);
  }
  events.Flush();
  MetricsLog(context_.model_dir).AppendEvaluation(step, label, result.metrics);
}

EventWriter& Evaluator::EventsIn(const std::string& folder, double now) {
  std::unique_ptr<EventWriter>& events = events_[folder];
  // Another process may have removed the folder.
  if (events == nullptr || !FileExists(events->path())) {
    events = std::make_unique<EventWriter>(folder, now);
  }
  return *events;
}

}  // namespace tpuest
