// Passes batches from a stream to the steps: one thread reads ahead, another takes them.
//
// Input: a stream, possibly its first batch, and possibly the step for which batches are prepared.
// Output: the batches in the stream's order, each with its feeds if its program already existed.
//
//   reading thread:  stream.Next ─▶ step.Prepare ─▶ Push ─▶ │ items_ │ ─▶ Take  :stepping thread
//                                                   waits while          waits while
//                                                   there is no room     it is empty
//
// Invariants:
//   - From construction to destruction only the reading thread uses the stream and Prepare.
//   - It reads two batches ahead, whatever their size (or `ahead`, which a device takes at once),
//     and more as long as there are fewer than 64 and they are smaller than 64 MiB in total. The
//     number of batches read ahead changes no batch.
//   - After an exception no batch is read; Take first returns the earlier batches, then throws it.
//   - A stop request ends every wait within kPoll; the batches already read stay.

#include "core/estimator/step/infeed.h"

#include <algorithm>
#include <chrono>

#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/train_step.h"

namespace tpuest {
namespace {

// Always reads two batches ahead, and more while they are small.
constexpr size_t kMinItems = 2;
constexpr size_t kMaxItems = 64;
constexpr size_t kMaxBytes = size_t{64} << 20;
// Waits check for a stop request at this interval.
constexpr std::chrono::milliseconds kPoll{20};

size_t BytesOf(const Batch& batch) {
  size_t bytes = 0;
  for (const auto& [head, label] : batch.labels) bytes += label.bytes();
  for (const Tensor& feature : batch.features) bytes += feature.bytes();
  for (const Tensor& present : batch.present) bytes += present.bytes();
  return bytes;
}

}  // namespace

Infeed::Infeed(InfeedArgs args) : args_(std::move(args)) {
  thread_ = std::thread([this] { Read(); });
}

Infeed::~Infeed() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Infeed::Read() {
  try {
    ReadAll();
    Finish(nullptr);
  } catch (...) {
    Finish(std::current_exception());
  }
}

void Infeed::ReadAll() {
  for (int64_t count = 0; !args_.limit || count < *args_.limit; ++count) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return abandoned_ || HasRoom(); });
      if (abandoned_) return;
    }
    std::optional<Batch> batch = std::exchange(args_.first, std::nullopt);
    if (!batch) batch = args_.stream.Next();
    if (!batch) return;
    InfeedItem item{.batch = std::move(*batch)};
    if (args_.step != nullptr) item.feeds = args_.step->Prepare(item.batch);
    Push(std::move(item));
  }
}

Infeed::Rows Infeed::rows() {
  const std::lock_guard lock(mutex_);
  return rows_;
}

bool Infeed::HasRoom() const {
  const size_t at_least = std::max(kMinItems, static_cast<size_t>(args_.ahead.value_or(0)));
  return items_.size() < at_least || (items_.size() < kMaxItems && bytes_ < kMaxBytes);
}

void Infeed::Push(InfeedItem item) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ += BytesOf(item.batch);
    rows_.all += RowsOf(item.batch);
    rows_.made += item.batch.features.front().shape().dim(0);
    items_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void Infeed::Finish(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = std::move(error);
  }
  changed_.notify_all();
}

void Infeed::Wait(std::unique_lock<std::mutex>& lock, size_t count) {
  const auto is_there = [&] { return items_.size() >= count || !HasRoom() || ended_; };
  if (is_there()) return;
  const double begin = args_.clock.Seconds();
  while (!is_there() && !args_.stop.requested()) changed_.wait_for(lock, kPoll);
  waited_ += args_.clock.Seconds() - begin;
}

std::vector<InfeedItem> Infeed::Take(size_t max, bool all) {
  std::vector<InfeedItem> taken;
  {
    std::unique_lock lock(mutex_);
    Wait(lock, all ? max : 1);
    while (!items_.empty() && taken.size() < max) {
      bytes_ -= BytesOf(items_.front().batch);
      taken.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    if (taken.empty() && error_ && !args_.stop.requested()) std::rethrow_exception(error_);
  }
  changed_.notify_all();
  return taken;
}

bool Infeed::AtEnd() {
  std::unique_lock lock(mutex_);
  Wait(lock, 1);
  return items_.empty() && ended_ && !error_;
}

}  // namespace tpuest
