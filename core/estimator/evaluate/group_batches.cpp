#include "core/estimator/evaluate/group_batches.h"

#include <exception>
#include <memory>
#include <utility>
#include <variant>

#include "core/estimator/group/group_rows.h"
#include "core/estimator/group/input_files.h"
#include "core/estimator/step/infeed.h"

namespace tpuest {
namespace {

std::string_view Named(Mode mode) { return mode == Mode::kEval ? "evaluation" : "prediction"; }

// The batch that the chief runs; the chief may have run earlier batches by itself.
Batch BatchAt(Infeed& infeed, const StreamPosition& after, Mode mode) {
  while (true) {
    std::vector<InfeedItem> items = infeed.Take(1);
    if (items.empty()) break;
    if (items.front().batch.after == after) return std::move(items.front().batch);
  }
  throw Error(Code::kData,
              fmt::format("no batch of the {} ends at record {} of epoch {}, unlike in process 0",
                          Named(mode), after.records, after.epoch),
              "all processes must read the same input");
}

}  // namespace

GroupBatches::GroupBatches(hosts::Group* group, Mode mode) : group_(group), mode_(mode) {
  if (group_ == nullptr) return;
  group_->SetEvaluating(mode_ == Mode::kEval);
  before_ = group_->SetActivity(hosts::Activity::kPreparing);
}

// Tells the workers in every case, because a stop request alone would not end their run.
GroupBatches::~GroupBatches() {
  if (group_ == nullptr) return;
  try {
    if (has_workers_) SendControl(*group_, EndBatchesMessage());
  } catch (const std::exception&) {
    // The next call of the group throws the verdict.
  }
  group_->SetEvaluating(false);
  group_->SetActivity(before_);
}

void GroupBatches::Start(const ControlMessage& message, const std::vector<std::string>& files) {
  CheckEachCanRead(files);
  SendControl(*group_, message);
  has_workers_ = true;
  Agree(files);
}

void GroupBatches::Agree(const std::vector<std::string>& files) {
  group_->CheckSame(fmt::format("input of the {}", Named(mode_)), InputFilesText(files));
}

void TakeOwnRows(const EstimatorContext& context, Mode mode, BatchStream& stream) {
  if (context.BroadcastsIn(mode) || context.FillsUp(mode)) return;
  const ReplicaRange share = context.collective->share();
  const int64_t rows = context.BatchSize(mode) / context.ReplicasIn(mode);
  stream.TakeRows(share.first * rows, share.count * rows);
}

void FollowBatches(EstimatorContext& context, InferenceModel& model, Mode mode,
                   const BatchesToFollow& batches) {
  hosts::Group& group = *context.home.group;
  GroupBatches in_group(&group, mode);
  context.seed = batches.seed;
  context.seeds_by_name = batches.seeds_by_name;
  const std::unique_ptr<BatchStream> stream =
      context.OpenBatches(batches.input_fn, mode, batches.seed);
  model.Take(stream->spec(), batches.variables, batches.tables, context.BatchSize(mode));
  TakeOwnRows(context, mode, *stream);
  in_group.Agree(stream->files());
  TakeRows(group, model.graph(), model.store());
  const StopSignal never;  // only the chief decides when to stop
  Infeed infeed({.stream = *stream, .clock = context.home.clock, .stop = never});
  while (true) {
    const ControlMessage next = ReceiveControl(group);
    if (std::holds_alternative<EndBatchesMessage>(next)) break;
    if (AnswerOfRows(group, next, model.store())) continue;
    const auto* const message = std::get_if<BatchMessage>(&next);
    Check(message != nullptr, "this message is not allowed between batches");
    group.SetActivity(hosts::Activity::kInput);
    const Batch batch = BatchAt(infeed, message->after, mode);
    group.SetActivity(hosts::Activity::kStep);
    model.RunShare(batch);
  }
  const Infeed::Rows rows = infeed.rows();
  context.home.log.Info("Read {} of {} rows of the {}'s input, those of this process.", rows.made,
                        rows.all, Named(mode));
}

}  // namespace tpuest
