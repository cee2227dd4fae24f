// A process that trains beside the chief: it runs the steps that the chief requests.
//
//   message Start    opens the input, takes over the chief's variables, seeks
//           Steps    the next batches, one call of the step's program: its own replicas' part
//           CopyToHost
//                    sends its devices' parts of a variable to all processes
//           Compare  reports fingerprints of the variables
//           Evaluate runs its part of an evaluation's batches (Evaluator::FollowChief)
//           Predict  runs its part of a prediction's (Predictor::FollowChief)
//           RowRecords, CountRecords, RowValues, ForgetChanges
//                    reports its rows and records of shared tables (group_rows.h)
//           SeesFolder, WriteShards
//                    writes its part of a checkpoint (shard_writers.h)
//           End      exits with the chief's exit code
//
// Invariants:
//   - After every message the variables equal the chief's, because each process applies the same
//     sums. If a table is stored by rows, the process stores and updates only the rows that it
//     owns.
//   - Except for its shards it writes nothing, calls no hooks and decides nothing.

#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/estimator/group/control_messages.h"
#include "core/estimator/group/group_rows.h"
#include "core/estimator/group/input_files.h"
#include "core/estimator/group/shard_writers.h"
#include "core/estimator/train/trainer.h"

namespace tpuest {
namespace {

// The batches that wait for their steps.
class WorkerInput {
 public:
  explicit WorkerInput(InfeedArgs args) : infeed_(std::move(args)) {}

  // The next batches. Throws Error kData if the input ends before, or if the batches differ from
  // the chief's.
  std::span<InfeedItem> Next(const StepsMessage& message) {
    const auto count = static_cast<size_t>(message.steps);
    while (items_.size() < count) {
      std::vector<InfeedItem> more = infeed_.Take(count - items_.size());
      if (more.empty()) {
        throw Error(Code::kData,
                    fmt::format("the input ends at step {}, but that of process 0 does not",
                                message.global_step + Signed(items_.size())));
      }
      for (InfeedItem& item : more) items_.push_back(std::move(item));
    }
    const StreamPosition& after = items_[count - 1].batch.after;
    if (!(after == message.after)) {
      throw Error(Code::kData,
                  fmt::format("the batch of step {} ends at record {} of epoch {}, but that of "
                              "process 0 at record {} of epoch {}",
                              message.global_step + message.steps, after.records, after.epoch,
                              message.after.records, message.after.epoch),
                  "all processes must read the same input");
    }
    return {items_.data(), count};
  }
  [[nodiscard]] Infeed& infeed() { return infeed_; }
  void Drop(size_t count) { items_.erase(items_.begin(), items_.begin() + Signed(count)); }

 private:
  static int64_t Signed(size_t value) { return static_cast<int64_t>(value); }

  Infeed infeed_;
  std::vector<InfeedItem> items_;
};

}  // namespace

TrainResult Trainer::FollowChief(const InputFn& input_fn, const OtherMessage& other) {
  hosts::Group& group = *context_.home.group;
  ControlMessage message = ReceiveControl(group);
  while (!std::holds_alternative<EndMessage>(message)) {
    if (Answers(message, other)) {
      message = ReceiveControl(group);
      continue;
    }
    const auto* const start = std::get_if<StartMessage>(&message);
    Check(start != nullptr, "the message to run steps arrived before the one to start");
    message = TrainShare(input_fn, *start, other);
  }
  const auto* const end = std::get_if<EndMessage>(&message);
  return {.stopped_because = "the chief left", .exit_code = end->exit_code};
}

bool Trainer::Answers(const ControlMessage& message, const OtherMessage& other) {
  hosts::Group& group = *context_.home.group;
  if (const auto* const home = std::get_if<CopyToHostMessage>(&message)) {
    variables_.CopyToHost(home->variable);
    return true;
  }
  return other(message) || AnswerOfRows(group, message, variables_) ||
         AnswerOfShards(group, message, variables_, context_.model_dir);
}

ControlMessage Trainer::TrainShare(const InputFn& input_fn, const StartMessage& start,
                                   const OtherMessage& other) {
  hosts::Group& group = *context_.home.group;
  group.SetActivity(hosts::Activity::kPreparing);
  context_.seed = start.seed;
  context_.seeds_by_name = start.seeds_by_name;
  const std::unique_ptr<BatchStream> stream = OpenInput(input_fn, start.seed);
  TrainStep& step = StepFor(stream->spec());
  const std::optional<RowKeeping> keeping = context_.RowsKept();
  if (keeping && variables_.tables().keeping() == nullptr) variables_.tables().KeepRows(*keeping);
  for (const auto& [name, value] : start.variables) {
    if (!IsSeenEntry(name)) variables_.Set(name, value);
  }
  CountSeenRows(*step.model().graph, start.seed, SavedState{.tensors = start.variables});
  NoteChangedRows(*step.model().graph, {});
  group.CheckSame("input", InputFilesText(stream->files()));
  TakeRows(group, *step.model().graph, variables_);
  TakeLines(group, variables_);
  TakeOwnRows(*stream, step);
  if (start.position != StreamPosition()) stream->Seek(start.position);
  std::optional<Batch> first = stream->Next();
  if (first) (void)step.ProgramFor(step.ShapesOf(*first));
  const StopSignal never;  // only the chief decides when to stop
  WorkerInput input({.stream = *stream,
                     .clock = context_.home.clock,
                     .stop = never,
                     .first = std::move(first),
                     .limit = std::nullopt,
                     .ahead = std::nullopt,
                     .step = &step});
  while (true) {
    ControlMessage message = ReceiveControl(group);
    if (std::holds_alternative<CompareMessage>(message)) {
      ReportVariables(group, WithSeen(variables_));
      continue;
    }
    if (Answers(message, other)) continue;
    const auto* const steps = std::get_if<StepsMessage>(&message);
    if (steps == nullptr) {
      LogRows(input.infeed());
      return message;
    }
    group.SetActivity(hosts::Activity::kInput);
    const std::span<InfeedItem> items = input.Next(*steps);
    group.SetInputWait(input.infeed().waited());
    group.SetActivity(hosts::Activity::kStep);
    const StepsMade made = step.Run(items, {});
    const auto count = static_cast<double>(made.size());
    group.SetStep(steps->global_step + static_cast<int64_t>(made.size()), made.seconds() / count);
    input.Drop(made.size());
  }
}

}  // namespace tpuest
