// The stream of an input_fn. In: a sampler (sampler.h), what a batch is made of (BuildContext), and
// how many threads make batches ahead. Out: the batches, in the sampler's order, one a Next().
//
// Each worker runs the same loop: take the next number and draw its records (one worker at a time),
// then look them up, read, parse and map them (all workers side by side), then put the batch in the
// ring at number mod prefetch. The reader takes them from the ring in order.
//
//     sampler --draw_mutex_--> worker A: records of 7 --> Locate, Build --.
//                              worker B: records of 5 --> Locate, Build --+--> [ 4 ][ 5 ][ 6 ][ 7 ]
//                                                                              ready   . ready   .
//     prefetch = 4, taken_ = 4, drawn_ = 8: Next returns batch 4, and only then is batch 8 drawn
//
// Invariants. Batch n holds what the sampler drew n-th, whichever worker built it and however many
// there are. taken_ <= drawn_ <= taken_ + prefetch, so a place of the ring is empty when its batch
// comes. The end, or an error of a draw, is drawn once, as the last outcome; an error of a build
// takes its own batch's place. Both stay in the ring, so each later Next meets them again.
// draw_mutex_ is taken before mutex_ and held over the wait for space: at most one worker waits for
// space, the others for the draw. Neither is held while a batch is built.

#include "data/pipeline/pipeline.h"

#include <utility>

namespace tpuest::data {
namespace {

// Enough tensors for the batches that wait, that are being built, and that the reader still holds.
size_t PoolSize(const PipelineOptions& options, const InputPlan& plan) {
  const size_t columns = plan.features.size() + plan.labels.size() + plan.forwarded.size();
  return columns * static_cast<size_t>(options.prefetch + options.workers + 2);
}

}  // namespace

Pipeline::Pipeline(const PipelineOptions& options, BuildContext context,
                   std::unique_ptr<Sampler> sampler, std::shared_ptr<const void> keep)
    : options_(options),
      keep_(std::move(keep)),
      context_(std::move(context)),
      spec_(context_.plan.spec()),
      pool_(PoolSize(options, context_.plan)),
      sampler_(std::move(sampler)),
      outcomes_(static_cast<size_t>(options.prefetch)) {}

Pipeline::~Pipeline() { Stop(); }

Pipeline::Outcome& Pipeline::At(int64_t number) {
  return outcomes_[static_cast<size_t>(number % options_.prefetch)];
}

void Pipeline::Start() {
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

void Pipeline::Stop() {
  // A worker that is building finishes its batch first; Seek then forgets it.
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  space_.notify_all();
  workers_.clear();  // joins
  stopping_ = false;
}

void Pipeline::Seek(const StreamPosition& position) {
  Stop();
  seek_ = position;
  drained_ = false;
  drawn_ = 0;
  taken_ = 0;
  for (Outcome& outcome : outcomes_) outcome = {};
}

void Pipeline::TakeRows(int64_t first, int64_t count) {
  Check(workers_.empty(), "rows are taken before the first batch");
  context_.taken = {first, count, options_.batch_size};
}

std::optional<Batch> Pipeline::Next() {
  if (workers_.empty()) Start();
  std::unique_lock lock(mutex_);
  Outcome& outcome = At(taken_);
  ready_.wait(lock, [&] { return outcome.ready; });
  // An error and the end stay where they are, for the calls that follow.
  if (outcome.error) std::rethrow_exception(outcome.error);
  if (!outcome.batch) return std::nullopt;
  std::optional<Batch> batch = std::move(outcome.batch);
  outcome = {};
  ++taken_;
  lock.unlock();
  space_.notify_one();
  return batch;
}

void Pipeline::DrawRecords(Drawn& drawn) {
  // A seek may read a whole stream, and may throw: it is the workers' work, and its error goes the
  // way of theirs.
  if (seek_) {
    sampler_->Seek(*seek_);
    seek_.reset();
  }
  sampler_->Draw(options_.batch_size, drawn);
  // Fewer rows than asked for come only at the end of the last epoch, or where the sampler says so.
  if (options_.drop_remainder && !sampler_->cuts_batches() && drawn.rows < options_.batch_size)
    drawn.rows = 0;
  drained_ = drawn.rows == 0;
}

bool Pipeline::Draw(int64_t& number, Drawn& drawn, Outcome& outcome) {
  const std::lock_guard draw_lock(draw_mutex_);
  if (drained_) return false;
  {
    std::unique_lock lock(mutex_);
    // The wait holds draw_mutex_, so that numbers are given out in the order of the draws.
    space_.wait(lock, [&] { return stopping_ || drawn_ - taken_ < options_.prefetch; });
    if (stopping_) return false;
    number = drawn_++;
  }
  try {
    DrawRecords(drawn);
  } catch (...) {
    outcome.error = std::current_exception();
    // After an error the sampler's state is unknown: nothing more is drawn until Seek.
    drained_ = true;
    drawn.rows = 0;
  }
  return true;
}

// The ring's place is empty: the batch that was there has been taken before this one was drawn.
void Pipeline::Put(int64_t number, Outcome outcome) {
  outcome.ready = true;
  {
    const std::lock_guard lock(mutex_);
    At(number) = std::move(outcome);
  }
  ready_.notify_one();
}

void Pipeline::Work() {
  BatchBuilder builder(context_, pool_);
  Drawn drawn;
  for (;;) {
    int64_t number = 0;
    Outcome outcome;
    if (!Draw(number, drawn, outcome)) return;
    if (drawn.rows > 0) {
      try {
        sampler_->Locate(drawn);
        outcome.batch = builder.Build(drawn, options_.pad_last ? options_.batch_size : 0);
      } catch (...) {
        outcome.error = std::current_exception();
      }
    }
    Put(number, std::move(outcome));
  }
}

}  // namespace tpuest::data
