#pragma once
// Reads batches ahead of the steps that use them, in a separate thread.

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
  std::optional<Batch> first;    // already read
  std::optional<int64_t> limit;  // batches; nullopt: to the end of the stream
  std::optional<int64_t> ahead;  // number of batches read ahead, however large
  TrainStep* step = nullptr;     // batches are prepared for it when they are read
};

class Infeed {
 public:
  explicit Infeed(InfeedArgs args);
  // Waits for the batch that is being read.
  ~Infeed();
  Infeed(const Infeed&) = delete;
  Infeed& operator=(const Infeed&) = delete;

  // Returns the next batches, at most `max`. Waits for one, then takes those that are ready; with
  // `all` it waits for as many as are read ahead. Empty at the end, and when a stop is requested.
  // Rethrows the reading thread's exception, except after a stop request, which may have caused it.
  [[nodiscard]] std::vector<InfeedItem> Take(size_t max, bool all = false);
  // Whether nothing is left; waits until this is known. False if a stop is requested meanwhile.
  [[nodiscard]] bool AtEnd();
  // The source files of the batches' rows.
  [[nodiscard]] const std::vector<std::string>& files() const { return args_.stream.files(); }
  // The number of rows of the batches read, and how many of them were produced: a stream may omit
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
  // Waits for `count` items, for a full queue, for the end or for a stop.
  void Wait(std::unique_lock<std::mutex>& lock, size_t count);

  InfeedArgs args_;
  double waited_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<InfeedItem> items_;
  size_t bytes_ = 0;  // total size of the items
  Rows rows_;
  bool ended_ = false;
  bool abandoned_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tpuest
