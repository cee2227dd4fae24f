// Predicts an input: runs batches through the model and passes rows to the callback.
//
// Input: an input_fn, a checkpoint (or fresh variables), and the call's arguments. Output: the rows
// in the order of the input; the result has the number of examples and the reason for the end.
//
//   Batch [8, ...] ─┬─▶ InferenceModel::Run ─▶ {"classes": [8], "logits": [8, 10]} ─┐
//                   └─▶ forwarded columns {"id": [8]} ──────────────────────────────┤ cut to the
//                                                                                   ▼ examples
//   yield_single_examples:   {"classes": [], "logits": [10]}, {"id": []}, index 0; 1; ...
//   without:                 {"classes": [8], "logits": [8, 10]}, {"id": [8]}, index 0; 8; ...
//
// Predict prepares the arguments, loads the model, and calls GiveNext per batch until that returns
// why it ended: "limit", "end of input", "hook", "preempted", "interrupted".
//
// Invariants:
//   - Padding is never passed on: a batch's rows end with its examples, and with the limit.
//   - The index counts the examples of the input from 0. The result counts the examples of all
//     batches that were passed on; the last batch counts in full even if the callback ends within
//     it.
//   - A prediction without rows is passed on with a whole batch; it is refused with single
//     examples.
//   - A dry run predicts the first batch and passes nothing on.
//   - In a group each process runs its replicas' rows, and reads only those. The chief reads all
//     rows if columns are forwarded or the host computes predictions from them.

#include "core/estimator/evaluate/predictor.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/estimator/evaluate/group_batches.h"
#include "core/estimator/group/group_rows.h"

namespace tpuest {
namespace {

// "['classes', 'logits']", as Python prints a list.
std::string ListText(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(fmt::format("'{}'", name));
  return fmt::format("[{}]", Join(quoted, ", "));
}

bool IsNamed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Row i of [batch, ...], without the batch dimension.
Tensor Row(const Tensor& batch, int64_t i) {
  std::vector<int64_t> dims = batch.shape().dims();
  dims.erase(dims.begin());
  return batch.Rows(i, i + 1).Reshaped(Shape(std::move(dims)));
}

std::map<std::string, Tensor> RowsOfAll(const std::map<std::string, Tensor>& columns, int64_t end) {
  std::map<std::string, Tensor> rows;
  for (const auto& [name, column] : columns) rows[name] = column.Rows(0, end);
  return rows;
}

std::map<std::string, Tensor> RowOfAll(const std::map<std::string, Tensor>& columns, int64_t i) {
  std::map<std::string, Tensor> row;
  for (const auto& [name, column] : columns) row[name] = Row(column, i);
  return row;
}

// Passes a batch's rows to the callback, one by one or together; returns false if it wants no more.
bool GiveRows(const PredictionRow& batch, int64_t examples, bool one_by_one,
              const RowCallback& give) {
  if (!one_by_one) return give(batch);
  for (int64_t i = 0; i < examples; ++i) {
    const bool goes_on = give({.values = RowOfAll(batch.values, i),
                               .forwarded = RowOfAll(batch.forwarded, i),
                               .index = batch.index + i});
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> Predictor::Keys(const PredictArgs& args) {
  std::vector<std::string> all;
  for (const auto& [name, value] : model_.spec().predictions) all.push_back(name);
  if (args.predict_keys.empty()) return all;
  std::vector<std::string> keys;
  for (const std::string& name : all) {
    if (IsNamed(args.predict_keys, name)) keys.push_back(name);
  }
  if (!keys.empty()) return keys;
  throw Error(Code::kUsage, fmt::format("Expected to run at least one output from {}, provided {}.",
                                        ListText(all), ListText(args.predict_keys)))
      .Key("predict.predict_keys");
}

std::map<std::string, Tensor> Predictor::Run(const Batch& batch, int64_t examples, const Call& call,
                                             StepTrace* trace) {
  const std::vector<Tensor> outputs = model_.Run(batch, trace).values;
  std::map<std::string, Tensor> values;
  size_t next = 0;
  for (const auto& [name, value] : model_.spec().predictions) {
    const Tensor& output = outputs[next++];
    const bool has_rows = output.shape().rank() > 0 && output.shape().dim(0) >= batch.examples;
    if (!has_rows && call.args.yield_single_examples && IsNamed(call.keys, name)) {
      throw Error(Code::kUsage, fmt::format("Batch length of predictions should be same. {} has "
                                            "different batch length than others.",
                                            name))
          .At(value.node->origin());
    }
    values[name] = has_rows ? output.Rows(0, examples) : output;
  }
  return values;
}

PredictResult Predictor::Predict(const InputFn& input_fn, const PredictArgs& args,
                                 const RowCallback& row) {
  RefuseBatchAxis();
  const int64_t batch_size = context_.BatchSize(Mode::kPredict);
  const std::optional<SavedState> saved = model_.Find(args.checkpoint, OlderIf(args.allow_older));
  const std::unique_ptr<BatchStream> stream = Load(input_fn, batch_size, saved);
  const Call call{.args = args, .give = row, .keys = Keys(args)};
  PredictResult result;
  if (saved) {
    result.global_step = saved->global_step;
    result.checkpoint = saved->prefix;
  }
  if (context_.home.dry_run) {
    TryFirst(*stream, call, saved);
    result.stopped_because = "dry run";
    return result;
  }
  GroupBatches in_group(context_.home.group, Mode::kPredict);
  if (model_.is_spread()) {
    const bool needs_all = stream->spec().forwards || model_.needs_all_rows();
    if (!needs_all) TakeOwnRows(context_, Mode::kPredict, *stream);
    in_group.Start(PredictMessage{.seed = *context_.seed,
                                  .seeds_by_name = context_.seeds_by_name,
                                  .variables = model_.variables().tensors()},
                   stream->files());
    DealRows(*context_.home.group, model_.variables());
  }
  Infeed infeed({.stream = *stream, .clock = context_.home.clock, .stop = context_.home.stop});
  InferenceHooks hooks(context_, model_, args.hooks, model_.spec().prediction_hooks);
  hooks.Begin(saved.has_value(), batch_size);
  GiveAll(infeed, hooks, call, result);
  hooks.End();
  return result;
}

void Predictor::FollowChief(const InputFn& input_fn, const PredictMessage& message) {
  FollowBatches(context_, model_, Mode::kPredict,
                {.input_fn = input_fn,
                 .seed = message.seed,
                 .seeds_by_name = message.seeds_by_name,
                 .variables = message.variables,
                 .tables = {}});
}

void Predictor::RefuseBatchAxis() const {
  if (!context_.options.batch_axis || !context_.OnTpu(Mode::kPredict)) return;
  throw Error(Code::kUsage, "For mode PREDICT, batch_axis is not supported yet.",
              "use_tpu: false predicts with it")
      .Key("batch_axis");
}

std::unique_ptr<BatchStream> Predictor::Load(const InputFn& input_fn, int64_t batch_size,
                                             const std::optional<SavedState>& saved) {
  const uint64_t seed = context_.Seed(saved ? saved->resume : ResumePoint());
  std::unique_ptr<BatchStream> stream = context_.OpenBatches(input_fn, Mode::kPredict, seed);
  model_.Load(stream->spec(), saved, batch_size);
  return stream;
}

void Predictor::TryFirst(BatchStream& stream, const Call& call,
                         const std::optional<SavedState>& saved) {
  if (const std::optional<Batch> first = stream.Next()) {
    (void)Run(*first, first->examples, call);
  }
  context_.home.log.Info("Dry run: predict would read {}; nothing was written",
                         saved ? saved->prefix : "no checkpoint");
}

void Predictor::GiveAll(Infeed& infeed, InferenceHooks& hooks, const Call& call,
                        PredictResult& result) {
  int64_t batches = 0;
  while ((result.stopped_because = GiveNext(infeed, hooks, call, result)).empty()) {
    if (ProgressListener* const progress = context_.home.progress) {
      progress->Report({.activity = "predict", .step = ++batches});
    }
  }
  const StopSignal& stop = context_.home.stop;
  if (result.stopped_because == ReasonOf(stop)) result.exit_code = UnsavedExitCodeOf(stop);
}

std::string Predictor::GiveNext(Infeed& infeed, InferenceHooks& hooks, const Call& call,
                                PredictResult& result) {
  const int64_t left = call.args.limit.value_or(INT64_MAX) - result.examples;
  if (left <= 0) return "limit";
  const std::vector<InfeedItem> items = infeed.Take(1);
  if (context_.home.stop.requested()) return ReasonOf(context_.home.stop);
  if (items.empty()) return "end of input";
  const Batch& batch = items.front().batch;
  hooks.BeforeBatch();
  const int64_t examples = std::min(batch.examples, left);
  const std::map<std::string, Tensor> predictions = Run(batch, examples, call, hooks.trace());
  // As in TensorFlow, hooks see a batch before its rows are passed on.
  const bool ends = hooks.AfterBatch(predictions);
  std::map<std::string, Tensor> wanted = predictions;
  std::erase_if(wanted, [&](const auto& value) { return !IsNamed(call.keys, value.first); });
  const PredictionRow rows{.values = std::move(wanted),
                           .forwarded = RowsOfAll(batch.forwarded, examples),
                           .index = result.examples};
  result.examples += examples;
  if (!GiveRows(rows, examples, call.args.yield_single_examples, call.give)) return "limit";
  return ends ? "hook" : "";
}

}  // namespace tpuest
