#include "data/pipeline/pipeline.h"

#include <utility>

namespace tpuest {
namespace {

// Tensors of the batches that wait, that are being built, and that the reader still holds.
size_t PoolSize(const PipelineOptions& options, const InputPlan& plan) {
  const size_t columns = plan.features.size() + plan.labels.size() + (plan.id ? 1 : 0);
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
  if (seek_) {
    sampler_->Seek(*seek_);
    seek_.reset();
  }
  sampler_->Draw(options_.batch_size, drawn);
  if (options_.drop_remainder && drawn.rows < options_.batch_size) drawn.rows = 0;
  drained_ = drawn.rows == 0;
}

bool Pipeline::Draw(int64_t& number, Drawn& drawn, Outcome& outcome) {
  const std::lock_guard draw_lock(draw_mutex_);
  if (drained_) return false;
  {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [&] { return stopping_ || drawn_ - taken_ < options_.prefetch; });
    if (stopping_) return false;
    number = drawn_++;
  }
  try {
    DrawRecords(drawn);
  } catch (...) {
    outcome.error = std::current_exception();
    drained_ = true;
    drawn.rows = 0;
  }
  return true;
}

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

}  // namespace tpuest
