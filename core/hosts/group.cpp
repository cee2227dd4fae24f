#include "core/hosts/group.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/base/clock.h"
#include "core/base/text.h"

namespace tpuest::hosts {
namespace {

constexpr FrameKind kBeat = 16;
constexpr FrameKind kVote = 17;
constexpr FrameKind kVerdict = 18;
constexpr FrameKind kLeave = 19;
constexpr FrameKind kKey = 20;       // uint64 size of the key, the key, the value
constexpr FrameKind kQuestion = 21;  // its number
constexpr FrameKind kAnswer = 22;    // the question's number

constexpr double kBeatSecs = 1;
constexpr double kWakeSecs = 0.1;      // interval at which a waiting thread checks the clock
constexpr double kLeaveSecs = 2;       // after a verdict, for the main thread to return
constexpr double kLastWordSecs = 0.5;  // for a frame that a lost process may not take
constexpr double kSendSecs =
    3600;  // peer_secs ends the wait for a process that does not read earlier
constexpr double kLeastStepSecs = 60;
constexpr double kSteps = 20;  // the limit of a step, in steps of usual length
// A process that did not run for this long (its machine was suspended) read no beats meanwhile, so
// it does not count its peers as silent.
constexpr double kAbsentSecs = 1;

struct Beat {
  int64_t step = 0;
  Activity activity = Activity::kPreparing;
  int32_t evaluates = 0;
  double input_wait = 0;
};

template <class T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
T As(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

// A verdict frame holds an int32 code, the message, a 0 byte, and the hint.
Error VerdictIn(std::string_view bytes) {
  const auto code = static_cast<Code>(As<int>(bytes));
  bytes.remove_prefix(std::min(sizeof code, bytes.size()));
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view hint = bytes.substr(std::min(end + 1, bytes.size()));
  return {code, std::string(bytes.substr(0, end)), std::string(hint)};
}

std::string_view TextOf(Activity activity) {
  switch (activity) {
    case Activity::kPreparing:
      return "preparing";
    case Activity::kInput:
      return "waiting for its input";
    case Activity::kStep:
      return "in a step";
    case Activity::kSum:
      return "waiting for others' parts of a sum";
    case Activity::kControl:
      return "waiting for the chief";
    case Activity::kElsewhere:
      return "between two loops";
  }
  return "";
}

// "evaluating, waiting for its input". Steps and the phases between them are called "evaluating",
// since they are not steps of the training.
std::string TextOf(Activity activity, bool evaluates) {
  if (!evaluates) return std::string(TextOf(activity));
  if (activity == Activity::kStep || activity == Activity::kElsewhere) return "evaluating";
  return fmt::format("evaluating, {}", TextOf(activity));
}

// The first pair of lines in which two texts differ.
std::pair<std::string, std::string> FirstDifference(const std::string& a, const std::string& b) {
  const std::vector<std::string> lines = Split(a, '\n');
  const std::vector<std::string> others = Split(b, '\n');
  for (size_t i = 0; i < std::max(lines.size(), others.size()); ++i) {
    const std::string line = i < lines.size() ? lines[i] : "";
    const std::string other = i < others.size() ? others[i] : "";
    if (line != other) return {line, other};
  }
  return {a, b};
}

std::string SecondsText(double seconds) { return fmt::format("{:.1f} s", seconds); }

}  // namespace

Group::Group(GroupSettings settings)
    : settings_(std::move(settings)),
      peers_(static_cast<size_t>(settings_.links.size)),
      waited_for_(static_cast<size_t>(settings_.links.size), 0.0),
      links_(settings_.links) {
  const double now = SystemClock().Seconds();
  for (Peer& peer : peers_) peer.heard = now;
  last_tick_ = now;
  links_.Listen({.frame = [this](int from, FrameKind kind,
                                 std::string&& bytes) { OnFrame(from, kind, std::move(bytes)); },
                 .closed = [this](int from, const std::string& why) { OnClosed(from, why); },
                 .tick = [this] { OnTick(); }});
}

// Sends the verdict before kLeave: a peer may receive this process's frames before those of the
// process that found the fault.
Group::~Group() {
  std::optional<Error> verdict;
  {
    const std::lock_guard lock(mutex_);
    leaves_ = true;
    if (verdict_) verdict = verdict_->error;
  }
  if (verdict) SendVerdict(*verdict);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != this->rank()) (void)links_.Send(rank, kLeave, {}, kLastWordSecs);
  }
}

void Group::OnFrame(int from, FrameKind kind, std::string&& bytes) {
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = At(from);
    peer.heard = SystemClock().Seconds();
    if (kind == kBeat) {
      const auto beat = As<Beat>(bytes);
      peer.step = beat.step;
      peer.activity = beat.activity;
      peer.evaluates = beat.evaluates != 0;
      peer.input_wait = beat.input_wait;
      return;
    }
    if (kind == kLeave) peer.left = true;
    if (kind == kKey) TakeKey(bytes);
    if (kind == kAnswer) peer.answered = As<uint64_t>(bytes);
    if (kind < peer.queues.size()) {
      peer.queues[kind].push_back({std::move(bytes), peer.heard});
      changed_.notify_all();
      return;
    }
  }
  if (kind == kVote) settings_.vote(As<int>(bytes));
  if (kind == kVerdict) SetVerdict(VerdictIn(bytes));
  if (kind == kQuestion) Answer(from, bytes);
  changed_.notify_all();
}

void Group::OnClosed(int from, const std::string& why) {
  bool is_lost = false;
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = At(from);
    peer.closed = true;
    is_lost = !peer.left && !leaves_;
  }
  if (is_lost) DeclareLost(from, why);
  changed_.notify_all();
}

void Group::OnTick() {
  const double now = SystemClock().Seconds();
  const double absent = now - last_tick_;
  const bool was_absent = absent > kAbsentSecs;
  if (absent > LongAbsence()) ++absences_;  // before last_tick_ changes: NeedMembership reads both
  last_tick_ = now;
  std::optional<std::pair<int, double>> silent;
  std::optional<Error> overdue;
  {
    const std::lock_guard lock(mutex_);
    for (int rank = 0; rank < size(); ++rank) {
      Peer& peer = At(rank);
      if (was_absent) peer.heard = now;
      if (rank == this->rank() || peer.left || peer.closed) continue;
      if (now - peer.heard > settings_.peer_secs) silent = {rank, now - peer.heard};
    }
    if (verdict_ && !leaves_ && now - verdict_->since > kLeaveSecs) overdue = verdict_->error;
  }
  if (const double until = device_until_; until > 0 && now > until) {
    device_until_ = 0;
    Fail(Error(Code::kLost,
               fmt::format("its devices did not finish the steps after step {}, which they compute "
                           "together with the devices of other processes",
                           step_.load()),
               "the same command resumes from the newest checkpoint; tpuest.deadlines.step_secs "
               "sets how long a step may take"));
  }
  if (silent) DeclareLost(silent->first, "it sent nothing for " + SecondsText(silent->second));
  if (overdue) settings_.end(*overdue);
  if (const int kind = settings_.asked_to_stop(); kind != 0 && !is_chief() && !voted_) {
    voted_ = true;
    const std::string_view vote[] = {BytesOf(kind)};
    (void)links_.Send(0, kVote, vote, kLastWordSecs);
  }
  if (now - last_beat_ < kBeatSecs) return;
  last_beat_ = now;
  const Beat beat{.step = step_,
                  .activity = activity_,
                  .evaluates = evaluates_ ? 1 : 0,
                  .input_wait = input_wait_};
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != this->rank()) links_.SendIfReady(rank, kBeat, BytesOf(beat));
  }
}

void Group::DeclareLost(int rank, const std::string& why) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const Peer& peer = At(rank);
    text = fmt::format(
        "process {} of {} ({}) is lost: {}; {} ago it was at step {}, {}; process {} was at "
        "step {}, {}",
        rank, size(), links_.NameOf(rank), why, SecondsText(SystemClock().Seconds() - peer.heard),
        peer.step, TextOf(peer.activity, peer.evaluates), this->rank(), step_.load(),
        TextOf(activity_, evaluates_));
  }
  SetAndSend(Error(Code::kLost, text, "the same command resumes from the newest checkpoint"));
  links_.Close(rank);
}

void Group::SetVerdict(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (verdict_ || leaves_) return;
  verdict_ = Verdict{error, SystemClock().Seconds()};
  changed_.notify_all();
}

void Group::SetAndSend(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (verdict_ || leaves_) return;
  }
  SetVerdict(error);
  SendVerdict(error);
}

void Group::SendVerdict(const Error& error) {
  const auto code = static_cast<int>(error.code());
  const std::string text = error.message() + '\0' + error.faults().front().hint;
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == this->rank()) continue;
    const std::string_view verdict[] = {BytesOf(code), text};
    (void)links_.Send(rank, kVerdict, verdict, kLastWordSecs);
  }
}

void Group::Fail(const Error& error) {
  SetAndSend(Error(error.code(), fmt::format("process {}: {}", rank(), error.message()),
                   error.faults().front().hint));
}

// Does not answer after a verdict: the asking process receives the verdict, or sees this one leave.
void Group::Answer(int from, std::string_view question) {
  {
    const std::lock_guard lock(mutex_);
    if (verdict_) return;
  }
  (void)links_.Send(from, kAnswer, std::span(&question, 1), kLastWordSecs);
}

void Group::Ask(uint64_t question) {
  const std::string_view message[] = {BytesOf(question)};
  for (int other = 0; other < size(); ++other) {
    if (other != rank()) (void)links_.Send(other, kQuestion, message, kLastWordSecs);
  }
}

bool Group::IsAnswered(uint64_t question) {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != this->rank() && !At(rank).left && At(rank).answered < question) return false;
  }
  return true;
}

void Group::NeedMembership() {
  const int64_t absences = absences_;
  const bool is_back = SystemClock().Seconds() - last_tick_ <= LongAbsence();
  if (is_back && absences == excused_) return;
  std::unique_lock lock(mutex_);
  if (leaves_) return;
  ThrowVerdict();
  const uint64_t question = ++questions_;
  lock.unlock();
  Ask(question);
  lock.lock();
  while (!IsAnswered(question)) {
    ThrowVerdict();
    changed_.wait_for(lock, std::chrono::duration<double>(kWakeSecs));
  }
  ThrowVerdict();
  excused_ = absences;
}

double Group::StepLimit() const {
  if (settings_.step_secs > 0) return settings_.step_secs;
  return std::max(kLeastStepSecs, kSteps * step_seconds_);
}

void Group::DeviceBegins(int64_t steps) {
  const auto count = static_cast<double>(steps);
  const double most = settings_.step_secs > 0 ? settings_.step_secs * count
                                              : kLeastStepSecs + kSteps * step_seconds_ * count;
  device_until_ = SystemClock().Seconds() + most;
}

void Group::TakeKey(std::string_view message) {
  const auto size = As<uint64_t>(message);
  message.remove_prefix(std::min(sizeof size, message.size()));
  const std::string_view key = message.substr(0, size);
  keys_.emplace(key, message.substr(key.size()));
}

void Group::Put(std::string_view key, std::string_view value) {
  const uint64_t size = key.size();
  const std::string_view message[] = {BytesOf(size), key, value};
  {
    const std::lock_guard lock(mutex_);
    ThrowVerdict();
    keys_.emplace(key, value);
  }
  changed_.notify_all();
  for (int other = 0; other < this->size(); ++other) {
    if (other != rank()) SendFrame(other, kKey, message);
  }
}

std::optional<std::string> Group::Get(std::string_view key, double seconds) {
  std::unique_lock lock(mutex_);
  const double until = SystemClock().Seconds() + seconds;
  while (true) {
    ThrowVerdict();
    const auto found = keys_.find(key);
    if (found != keys_.end()) return found->second;
    const double left = until - SystemClock().Seconds();
    if (left <= 0) return std::nullopt;
    changed_.wait_for(lock, std::chrono::duration<double>(std::min(left, kWakeSecs)));
  }
}

void Group::ThrowVerdict() const {
  if (verdict_) throw Error(verdict_->error);
}

void Group::SetStep(int64_t step, double seconds) {
  step_ = step;
  // An exponential mean: the limit needs only the order of magnitude.
  constexpr double kNew = 0.1;
  step_seconds_ = step_seconds_ == 0 ? seconds : (1 - kNew) * step_seconds_ + kNew * seconds;
}

void Group::Send(int to, Channel channel, std::string_view message) {
  Send(to, channel, std::span(&message, 1));
}

void Group::Send(int to, Channel channel, std::span<const std::string_view> pieces) {
  SendFrame(to, static_cast<FrameKind>(channel), pieces);
}

void Group::SendFrame(int to, FrameKind kind, std::span<const std::string_view> pieces) {
  if (links_.Send(to, kind, pieces, kSendSecs)) return;
  // The reader thread finds the reason and sets the verdict.
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(kLeaveSecs),
                    [this] { return verdict_.has_value(); });
  ThrowVerdict();
  throw Error(Code::kLost, fmt::format("process {} has left", to));
}

std::string Group::Receive(int from, Channel channel) {
  return ReceiveMessage(from, channel).bytes;
}

bool Group::HasMessage(int from, Channel channel) {
  const std::lock_guard lock(mutex_);
  return !At(from).queues[static_cast<size_t>(channel)].empty();
}

std::vector<std::string> Group::ReceiveEach(std::span<const int> from, Channel channel) {
  const double begin = SystemClock().Seconds();
  std::vector<std::string> all;
  int last = this->rank();
  double last_at = begin;
  for (const int rank : from) {
    Message message = ReceiveMessage(rank, channel);
    all.push_back(std::move(message.bytes));
    if (message.at <= last_at) continue;
    last = rank;
    last_at = message.at;
  }
  waited_for_[static_cast<size_t>(last)] += last_at - begin;
  return all;
}

double Group::InputWaitOf(int rank) {
  if (rank == this->rank()) return input_wait_;
  const std::lock_guard lock(mutex_);
  return At(rank).input_wait;
}

std::string Group::NameOf(int rank) const {
  return fmt::format("process {} ({})", rank, links_.NameOf(rank));
}

Group::Message Group::ReceiveMessage(int from, Channel channel) {
  std::unique_lock lock(mutex_);
  std::deque<Message>& queue = At(from).queues[static_cast<size_t>(channel)];
  const bool is_of_step = channel == Channel::kData || channel == Channel::kExchanges;
  const double begin = SystemClock().Seconds();
  while (queue.empty()) {
    ThrowVerdict();
    if (At(from).closed || At(from).left) {
      throw Error(Code::kLost, fmt::format("process {} has left", from));
    }
    changed_.wait_for(lock, std::chrono::duration<double>(kWakeSecs));
    const double waited = SystemClock().Seconds() - begin;
    if (!is_of_step || !queue.empty() || waited < StepLimit()) continue;
    lock.unlock();
    DeclareLost(from,
                fmt::format("its part of the step did not arrive within {}", SecondsText(waited)));
    lock.lock();
  }
  Message message = std::move(queue.front());
  queue.pop_front();
  return message;
}

void Group::SendToWorkers(std::string_view message) {
  for (int rank = 1; rank < size(); ++rank) Send(rank, Channel::kControl, message);
}

void Group::CheckSame(const std::string& what, const std::string& value) {
  if (!is_chief()) {
    Send(0, Channel::kReports, value);
    (void)Receive(0, Channel::kReports);  // the chief answers only if all agree
    return;
  }
  for (int rank = 1; rank < size(); ++rank) {
    const std::string other = Receive(rank, Channel::kReports);
    if (other == value) continue;
    const auto [here, there] = FirstDifference(value, other);
    const Error error(
        Code::kUsage,
        fmt::format("process {} has a different {} than process 0: '{}', process 0 has '{}'", rank,
                    what, there, here),
        "start all processes of a group with the same program, job and files");
    SetAndSend(error);
    throw Error(error);
  }
  for (int rank = 1; rank < size(); ++rank) Send(rank, Channel::kReports, "");
}

void Group::AwaitExits(double seconds) {
  std::unique_lock lock(mutex_);
  leaves_ = true;
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] {
    for (int rank = 0; rank < size(); ++rank) {
      if (rank != this->rank() && !At(rank).left && !At(rank).closed) return false;
    }
    return true;
  });
}

}  // namespace tpuest::hosts
