#pragma once
// A group is the processes of one job: what they tell each other, and what becomes of all of them
// when one is lost.
//
// Process 0, the chief, decides: it alone reads the run's folder, and writes it but for shards of
// large tables (core/estimator/group/shard_writers.h), and gives the others orders. A worker does
// what it is told, on its own replicas:
//
//   orders    chief to worker    what comes next (core/estimator/group/orders.h)
//   data      each to each       partial sums and sums, in the order of the programs (group_sum.h)
//   exchanges each to each       what each gives the others beside sums, in that order, too
//   reports   worker to chief    answers to an order that asks
//             each to each       what is written together
//   beats     each to each       every second: the step that a process is at, and what it does
//   votes     worker to chief    a signal asks to stop: the chief decides at which step
//   keys      each to each       what a plugin tells the other processes by name
//   verdict   each to each       why all leave, with the exit code: once, the first stands
//   questions each to each       by who stood still: whether there is a verdict
//
// Nothing waits for ever. A link that is closed, nothing heard for peer_secs, or no data for
// step_secs is a verdict, that names the process, its last step and what was waited for. Every
// wait ends with it; a process whose thread does not come back within two seconds is ended. Who was
// stopped itself, and goes on, writes nothing before all others have said that there is none.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/key_values.h"
#include "core/base/error.h"
#include "core/hosts/links.h"

namespace tpuest::hosts {

enum class Channel : FrameKind { kOrders = 1, kData = 2, kReports = 3, kExchanges = 4 };

// What a process does, for the others' messages.
enum class Activity : int32_t { kPreparing, kInput, kStep, kSum, kOrders, kElsewhere };

struct GroupSettings {
  LinkSettings links;
  double peer_secs = 10;  // without a word of a process: it is lost
  double step_secs = 0;   // without its part of a step; 0: 20 times a step, at least a minute
  // The kind of stop that was asked for in this process, as StopSignal::Kind; 0: none.
  std::function<int()> asked_to_stop = [] { return 0; };
  // In the chief: a worker was asked. Called by another thread.
  std::function<void(int kind)> vote = [](int /*kind*/) {};
  // Ends this process, which has not left in time after a verdict. Called by another thread.
  std::function<void(const Error& verdict)> end = [](const Error& /*verdict*/) {};
};

class Group final : public KeyValueStore {
 public:
  // Waits until all are there. Throws what Links' constructor throws.
  explicit Group(GroupSettings settings);
  // Tells the others that this process leaves in order.
  ~Group() override;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] int rank() const { return settings_.links.rank; }
  [[nodiscard]] int size() const { return settings_.links.size; }
  [[nodiscard]] bool is_chief() const { return rank() == 0; }

  // All of these throw the verdict, once there is one.
  void Send(int to, Channel channel, std::string_view message);
  // A message of the pieces in a row.
  void Send(int to, Channel channel, std::span<const std::string_view> pieces);
  // The next of that process in that channel; waits for it.
  [[nodiscard]] std::string Receive(int from, Channel channel);
  // The next of each of these in a channel of steps, kData or kExchanges, in their order. How long
  // that took is held against the one that came last.
  [[nodiscard]] std::vector<std::string> ReceiveEach(std::span<const int> from, Channel channel);
  // Whether Receive would not wait. Any thread.
  [[nodiscard]] bool IsThere(int from, Channel channel);
  // The memory of a message that is done with, for those that come. Throws nothing.
  void Reuse(std::string&& message) { links_.Reuse(std::move(message)); }
  // To every worker.
  void Order(std::string_view order);
  // Error kUsage in every process, with both values, where they are not the same everywhere.
  // All call it at the same place.
  void Agree(const std::string& what, const std::string& value);

  // A key is told to all: each has what any has put.
  void Put(std::string_view key, std::string_view value) override;
  [[nodiscard]] std::optional<std::string> Get(std::string_view key, double seconds) override;

  // Around steps that devices of all processes make together. A device that waits for one that is
  // gone never comes back: after as long as so many steps may take, this process is the one that is
  // lost.
  void DeviceBegins(int64_t steps);
  void DeviceEnds() { device_until_ = 0; }

  // For the others' messages, and for how long a step may take. Returns the activity before.
  Activity At(Activity activity) { return activity_.exchange(activity); }
  // Whether what this process does is part of an evaluation.
  void Evaluates(bool evaluates) { evaluates_ = evaluates; }
  void AtStep(int64_t step, double seconds);
  // Seconds that this process has waited for its input; the others hear of it.
  void WaitedForInput(double seconds) { input_wait_ = seconds; }
  // Seconds that a process says it has waited for its input.
  [[nodiscard]] double InputWaitOf(int rank);
  // Seconds that ReceiveEach has waited for each process, by rank. One thread receives.
  [[nodiscard]] const std::vector<double>& waited_for() const { return waited_for_; }
  // "process 1 (pid 77)", and of another machine's process its address, too.
  [[nodiscard]] std::string NameOf(int rank) const;
  // Links::strangers().
  [[nodiscard]] int64_t strangers() const { return links_.strangers(); }

  // For who is about to change a file that the group's next run may have by now. Where this process
  // has stood still for half of the time after which it is lost, all others are asked first whether
  // there is a verdict: throws it. Any thread but the one that reads.
  void NeedPlace();

  // The verdict that this process's own error is for all others; the first verdict stands.
  void Fail(const Error& error);
  // Waits until every other process has left, at most so long. From now on none is missed.
  void AwaitLeaving(double seconds);

 private:
  struct Letter {
    std::string bytes;
    double at = 0;  // when it came
  };
  struct Peer {
    std::array<std::deque<Letter>, 5> boxes;  // by Channel
    double heard = 0;                         // when, last
    double input_wait = 0;
    int64_t step = 0;
    Activity activity = Activity::kPreparing;
    bool evaluates = false;
    uint64_t answered = 0;  // the last question of this process
    bool left = false;      // in order
    bool closed = false;
  };
  struct Verdict {
    Error error;
    double since = 0;
  };

  void OnFrame(int from, FrameKind kind, std::string&& bytes);
  void OnClosed(int from, const std::string& why);
  void OnTick();
  // Sets the verdict and tells the others.
  void Judge(const Error& error);
  void Tell(const Error& verdict);
  void Set(const Error& error);
  void Lose(int rank, const std::string& why);
  // Throws the verdict, if there is one; the mutex is held.
  void ThrowVerdict() const;
  void TakeKey(std::string_view message);
  void SendFrame(int to, FrameKind kind, std::span<const std::string_view> pieces);
  [[nodiscard]] Letter ReceiveLetter(int from, Channel channel);
  [[nodiscard]] double StepLimit() const;
  [[nodiscard]] double LongAbsence() const { return settings_.peer_secs / 2; }
  void Answer(int from, std::string_view question);
  void Ask(uint64_t question);
  [[nodiscard]] bool IsAnswered(uint64_t question);
  [[nodiscard]] Peer& At(int rank) { return peers_[static_cast<size_t>(rank)]; }

  GroupSettings settings_;
  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  std::map<std::string, std::string, std::less<>> keys_;
  std::optional<Verdict> verdict_;
  bool leaves_ = false;
  uint64_t questions_ = 0;

  std::atomic<Activity> activity_ = Activity::kPreparing;
  std::atomic<bool> evaluates_ = false;
  std::atomic<int64_t> step_ = 0;
  std::atomic<double> step_seconds_ = 0;
  std::atomic<double> input_wait_ = 0;
  std::atomic<double> device_until_ = 0;  // when its devices are lost; 0: they are not running
  std::vector<double> waited_for_;
  std::atomic<double> last_tick_ = 0;  // of the thread that reads
  std::atomic<int64_t> absences_ = 0;  // long ones, that this thread has found
  std::atomic<int64_t> excused_ = 0;   // of these: all others have said that there is no verdict
  // Of the thread that reads.
  double last_beat_ = 0;
  bool voted_ = false;
  Links links_;  // the last: it is gone first
};

}  // namespace tpuest::hosts
