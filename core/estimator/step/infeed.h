#pragma once
// Reads batches ahead of the steps that use them, in a thread of its own.

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/clock.h"
#include "core/estimator/contract/contract.h"
#include "core/estimator/contract/stop_signal.h"

namespace tpuest {

class TrainStep;

// A batch on its way to a step.
struct InfeedItem {
  Batch batch;
  StepFeeds feeds = {};  // empty: the batch was not prepared for a step
};

struct InfeedArgs {
  BatchStream& stream;
  const Clock& clock;
  const StopSignal& stop;
  std::optional<Batch> first;    // read already
  std::optional<int64_t> limit;  // batches; nullopt: to the end of the stream
  std::optional<int64_t> ahead;  // batches that are read ahead, however large
  TrainStep* step = nullptr;     // batches are prepared for it as they are read
};

class Infeed {
 public:
  explicit Infeed(InfeedArgs args);
  // Waits for the batch that is being read.
  ~Infeed();
  Infeed(const Infeed&) = delete;
  Infeed& operator=(const Infeed&) = delete;

  // Returns the next batches, at most `max`. Waits for one, then takes those that are there
  // already; with `all` it waits for as many as are read ahead. Empty at the end, and when a stop
  // is requested. Rethrows the reading thread's exception, but
  // not after a stop request, which may have been its reason.
  [[nodiscard]] std::vector<InfeedItem> Take(size_t max, bool all = false);
  // Whether nothing is left; waits to know. False when a stop is requested meanwhile.
  [[nodiscard]] bool AtEnd();
  // The files that the batches' rows are of.
  [[nodiscard]] const std::vector<std::string>& files() const { return args_.stream.files(); }
  // The rows of the batches that were read, and how many of them were made: a stream may leave out
  // those of other processes.
  struct Rows {
    int64_t made = 0;
    int64_t all = 0;
  };
  [[nodiscard]] Rows rows();
  // Seconds that Take and AtEnd have waited.
  [[nodiscard]] double waited() const { return waited_; }

 private:
  void Read();
  void ReadAll();
  [[nodiscard]] bool HasRoom() const;
  void Push(InfeedItem item);
  void Finish(std::exception_ptr error);
  // Waits until there are so many items, no room for more, the end or a stop.
  void Wait(std::unique_lock<std::mutex>& lock, size_t count);

  InfeedArgs args_;
  double waited_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<InfeedItem> items_;
  size_t bytes_ = 0;  // of the items
  Rows rows_;
  bool ended_ = false;
  bool abandoned_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tpuest
