#pragma once
// A group is the set of processes of one job. This class carries their messages and ends all of
// them when one is lost.
//
// Process 0, the chief, decides. Only it reads the run's folder and writes to it, except for shards
// of large tables (core/estimator/group/shard_writers.h). It sends control messages to the workers,
// and a worker carries them out on its own replicas. The kinds of messages:
//
//   control   chief to worker    what to do next (core/estimator/group/control_messages.h)
//   data      all to all         partial sums and sums, in the programs' order (group_collective.h)
//   exchanges all to all         other data that replicas exchange, also in the programs' order
//   reports   worker to chief    answers to control messages
//             all to all         shares of what the processes write together
//   beats     all to all         every second: the process's step and phase
//   votes     worker to chief    a signal requests a stop; the chief decides at which step
//   keys      all to all         key-value pairs that a plugin publishes to the other processes
//   verdict   all to all         why all leave, with the exit code; the first verdict counts
//   questions all to all         a process that was suspended asks whether there is a verdict
//
// Every wait is bounded. A closed link, silence for peer_secs, or no data for step_secs leads to a
// verdict that names the process, its last step, and the data that did not arrive. A verdict ends
// every wait; a process whose thread does not return within two seconds is terminated. A process
// that was itself suspended writes nothing until all others have answered that there is no verdict.

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

enum class Channel : FrameKind { kControl = 1, kData = 2, kReports = 3, kExchanges = 4 };

// The current activity of a process, shown in the messages of other processes.
enum class Activity : int32_t { kPreparing, kInput, kStep, kSum, kControl, kElsewhere };

struct GroupSettings {
  LinkSettings links;
  double peer_secs = 10;  // a process that is silent for this long is lost
  double step_secs = 0;   // limit of one step; 0: 20 times the mean step, at least a minute
  // Returns the kind of stop requested in this process, as StopSignal::Kind; 0: none.
  std::function<int()> asked_to_stop = [] { return 0; };
  // Called in the chief, by the reader thread, when a worker received a stop request.
  std::function<void(int kind)> vote = [](int /*kind*/) {};
  // Terminates this process, which has not left in time after a verdict. Called by the reader
  // thread.
  std::function<void(const Error& verdict)> end = [](const Error& /*verdict*/) {};
};

class Group final : public KeyValueStore {
 public:
  // Waits until all processes are linked. Throws the same errors as the constructor of Links.
  explicit Group(GroupSettings settings);
  // Announces to all peers that this process leaves in order.
  ~Group() override;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] int rank() const { return settings_.links.rank; }
  [[nodiscard]] int size() const { return settings_.links.size; }
  [[nodiscard]] bool is_chief() const { return rank() == 0; }

  // All functions from here to Get throw the verdict, once one is set.
  void Send(int to, Channel channel, std::string_view message);
  // Sends the concatenated pieces as one message.
  void Send(int to, Channel channel, std::span<const std::string_view> pieces);
  // Waits for the next message of a process in a channel.
  [[nodiscard]] std::string Receive(int from, Channel channel);
  // Waits for the next message of each process in `from`, in that order, in kData or kExchanges.
  // The wait is attributed to the process whose message arrived last (see waited_for).
  [[nodiscard]] std::vector<std::string> ReceiveEach(std::span<const int> from, Channel channel);
  // Whether Receive would return without waiting. Any thread.
  [[nodiscard]] bool HasMessage(int from, Channel channel);
  // Returns the memory of a received message for later messages. Throws nothing.
  void Reuse(std::string&& message) { links_.Reuse(std::move(message)); }
  // Sends a control message to every worker.
  void SendToWorkers(std::string_view message);
  // Checks that `value` is the same in all processes; otherwise throws kUsage in each, with both
  // values. All processes call it at the same point.
  void CheckSame(const std::string& what, const std::string& value);

  // Put sends the key to all processes; Get finds the keys that any process has put.
  void Put(std::string_view key, std::string_view value) override;
  [[nodiscard]] std::optional<std::string> Get(std::string_view key, double seconds) override;

  // Called before and after `steps` steps that the devices of all processes compute together. A
  // device that waits for a lost device never returns: once the time limit of that many steps has
  // passed, this process declares itself lost.
  void DeviceBegins(int64_t steps);
  void DeviceEnds() { device_until_ = 0; }

  // Sets the activity that peers show in their messages. Returns the previous activity.
  Activity SetActivity(Activity activity) { return activity_.exchange(activity); }
  // Sets whether this process is evaluating.
  void SetEvaluating(bool evaluates) { evaluates_ = evaluates; }
  void SetStep(int64_t step, double seconds);
  // Sets the seconds that this process has waited for input; beats report them to the peers.
  void SetInputWait(double seconds) { input_wait_ = seconds; }
  // Seconds of input wait that a process has reported.
  [[nodiscard]] double InputWaitOf(int rank);
  // Seconds that ReceiveEach has waited for each process, by rank. Only for the receiving thread.
  [[nodiscard]] const std::vector<double>& waited_for() const { return waited_for_; }
  // "process 1 (pid 77)"; for a process of another machine also its address.
  [[nodiscard]] std::string NameOf(int rank) const;
  // Links::unauthenticated().
  [[nodiscard]] int64_t unauthenticated() const { return links_.unauthenticated(); }

  // Called before a change to a file that the group's next run may own by now. If this process was
  // suspended for more than half of peer_secs, asks all peers whether there is a verdict, and
  // throws it. Any thread except the reader thread.
  void NeedMembership();

  // Makes this process's own error the verdict for all processes, unless one is already set.
  void Fail(const Error& error);
  // Waits up to `seconds` until every other process has left. From now on a closed link is not a
  // loss.
  void AwaitExits(double seconds);

 private:
  struct Message {
    std::string bytes;
    double at = 0;  // time of arrival
  };
  struct Peer {
    std::array<std::deque<Message>, 5> queues;  // by Channel
    double heard = 0;                           // time of the last frame
    double input_wait = 0;
    int64_t step = 0;
    Activity activity = Activity::kPreparing;
    bool evaluates = false;
    uint64_t answered = 0;  // number of our last question that it answered
    bool left = false;      // announced that it leaves
    bool closed = false;
  };
  struct Verdict {
    Error error;
    double since = 0;
  };

  void OnFrame(int from, FrameKind kind, std::string&& bytes);
  void OnClosed(int from, const std::string& why);
  void OnTick();
  // Sets the verdict and sends it to all peers.
  void SetAndSend(const Error& error);
  void SendVerdict(const Error& verdict);
  void SetVerdict(const Error& error);
  void DeclareLost(int rank, const std::string& why);
  // Throws the verdict if one is set. The caller holds mutex_.
  void ThrowVerdict() const;
  void TakeKey(std::string_view message);
  void SendFrame(int to, FrameKind kind, std::span<const std::string_view> pieces);
  [[nodiscard]] Message ReceiveMessage(int from, Channel channel);
  [[nodiscard]] double StepLimit() const;
  [[nodiscard]] double LongAbsence() const { return settings_.peer_secs / 2; }
  void Answer(int from, std::string_view question);
  void Ask(uint64_t question);
  [[nodiscard]] bool IsAnswered(uint64_t question);
  [[nodiscard]] Peer& At(int rank) { return peers_[static_cast<size_t>(rank)]; }

  GroupSettings settings_;
  std::mutex mutex_;  // guards the members up to questions_
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
  std::atomic<double> device_until_ = 0;  // deadline of the running device steps; 0: none
  std::vector<double> waited_for_;
  std::atomic<double> last_tick_ = 0;  // of the reader thread
  std::atomic<int64_t> absences_ = 0;  // long suspensions that the reader thread has noticed
  std::atomic<int64_t> excused_ =
      0;  // absences_ after which all peers answered that there is no verdict
  // Only for the reader thread.
  double last_beat_ = 0;
  bool voted_ = false;
  Links links_;  // last member: destroyed first, which stops the reader thread
};

}  // namespace tpuest::hosts
