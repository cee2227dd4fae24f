// The stream of an input_fn. Input: a sampler (sampler.h), the parts that build a batch
// (BuildContext), and the number of threads that build batches ahead. Output: the batches, in the
// sampler's order, one per Next().
//
// Each worker runs the same loop: it takes the next number and draws its records (one worker at a
// time); then it locates, reads, parses and maps them (all workers in parallel); then it stores the
// batch in the ring at number mod prefetch. The reader takes batches from the ring in order.
//
//     sampler --draw_mutex_--> worker A: records of 7 --> Locate, Build --.
//                              worker B: records of 5 --> Locate, Build --+--> [ 4 ][ 5 ][ 6 ][ 7 ]
//                                                                              ready   . ready   .
//     prefetch = 4, taken_ = 4, drawn_ = 8: Next returns batch 4, and only then is batch 8 drawn
//
// Invariants. Batch n contains the n-th draw of the sampler, independent of the number of workers
// and of the worker that built it. taken_ <= drawn_ <= taken_ + prefetch, so a slot of the ring is
// empty when its batch is stored. The end, or an error of a draw, is drawn once, as the last
// outcome; an error of a build is stored in its own batch's slot. Both stay in the ring, so each
// later Next finds them again. draw_mutex_ is taken before mutex_ and held during the wait for
// space: at most one worker waits for space, all others for the draw. A worker holds neither mutex
// while it builds a batch.

#include "data/pipeline/pipeline.h"

#include <utility>

namespace tpuest::data {
namespace {

// Enough tensors for the batches that wait, that are being built, and that the reader still uses.
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
  // A worker that is building finishes its batch first; Seek then drops it.
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
  // An error and the end stay in the ring for later calls.
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
  // A seek may read a whole stream and may throw, so the workers do it, and its error is reported
  // like theirs.
  if (seek_) {
    sampler_->Seek(*seek_);
    seek_.reset();
  }
  sampler_->Draw(options_.batch_size, drawn);
  // A batch with fewer rows than requested comes only at the end of the last epoch, or if the
  // sampler determines the size.
  if (options_.drop_remainder && !sampler_->cuts_batches() && drawn.rows < options_.batch_size)
    drawn.rows = 0;
  drained_ = drawn.rows == 0;
}

bool Pipeline::Draw(int64_t& number, Drawn& drawn, Outcome& outcome) {
  const std::lock_guard draw_lock(draw_mutex_);
  if (drained_) return false;
  {
    std::unique_lock lock(mutex_);
    // The wait holds draw_mutex_, so that numbers are assigned in the order of the draws.
    space_.wait(lock, [&] { return stopping_ || drawn_ - taken_ < options_.prefetch; });
    if (stopping_) return false;
    number = drawn_++;
  }
  try {
    DrawRecords(drawn);
  } catch (...) {
    outcome.error = std::current_exception();
    // After an error the sampler's state is unknown, so nothing is drawn until Seek.
    drained_ = true;
    drawn.rows = 0;
  }
  return true;
}

// The slot is empty, because its previous batch was taken before this one was drawn.
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
