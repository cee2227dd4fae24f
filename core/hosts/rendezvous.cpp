#include "core/hosts/rendezvous.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/text.h"
#include "core/hosts/stream_socket.h"

namespace tpuest::hosts {
namespace {

constexpr uint32_t kRendezvousMagic = 0x6b6e6c74;  // "tlnk"
constexpr uint32_t kRendezvousProtocol = 2;
constexpr int kRetryMs = 20;  // between two attempts to reach a process that does not listen yet
constexpr int kRemoteRetryMs = 200;   // the same for another machine
constexpr double kHandshakeSecs = 5;  // for a new connection to send its kHello
// Extra wait of a worker: process 0 has the same deadline and then sends the reason why the group
// is not complete.
constexpr double kPatienceSecs = 5;

enum MessageKind : uint32_t {
  kHello = 1,
  kWelcome = 2,
  kRefusal = 3,
  kTryAgain = 4,
  kRoster = 5,
  kReady = 6,
  kGo = 7
};

}  // namespace

// One message of the rendezvous. Numbers are in the processor's byte order, which all processes of
// a group share.
struct Rendezvous::Message {
  uint32_t magic = kRendezvousMagic;
  uint32_t protocol = kRendezvousProtocol;
  uint32_t kind = kHello;
  int32_t rank = 0;  // of the sender; in kRoster: of the process that it describes
  int32_t size = 0;
  int32_t pid = 0;
  uint64_t group = 0;
  int32_t code = 0;     // of a refusal
  char text[500] = {};  // an address or a reason, 0-terminated

  [[nodiscard]] std::string_view bytes() const {
    return {reinterpret_cast<const char*>(this), sizeof *this};
  }
};

Rendezvous::Message Rendezvous::NewMessage(uint32_t kind, const std::string& text) const {
  Message message{.kind = kind,
                  .rank = settings_.rank,
                  .size = settings_.size,
                  .pid = ::getpid(),
                  .group = group_};
  std::memcpy(message.text, text.data(), std::min(text.size(), sizeof message.text - 1));
  return message;
}

std::vector<Linked> Rendezvous::ConnectAll() {
  linked_.clear();
  linked_.resize(static_cast<size_t>(settings_.size));
  deadline_ = NowSeconds() + settings_.rendezvous_secs;
  if (!transport_.connects_via_chief()) {
    ConnectByRank();
  } else {
    try {
      settings_.rank == 0 ? ConnectAsChief() : ConnectAsWorker();
    } catch (const Error& error) {
      SendError(error);
      throw;
    }
  }
  transport_.Complete();
  return std::move(linked_);
}

void Rendezvous::ConnectByRank() {
  for (int rank = 0; rank < settings_.rank; ++rank) {
    if (ConnectTo(rank)) continue;
    throw Error(Code::kLost, fmt::format("process {} left before all had joined", rank));
  }
  AcceptOthers();
}

void Rendezvous::ConnectAsChief() {
  if (::getrandom(&group_, sizeof group_, 0) != sizeof group_ || group_ == 0) group_ = 1;
  AcceptOthers();
  const auto with_all = [this](const auto& act) {
    for (int rank = 1; rank < settings_.size; ++rank) act(rank);
  };
  with_all([&](int to) {
    with_all([&](int about) {
      Message message = NewMessage(kRoster, At(about).address);
      message.rank = about;
      Send(to, message);
    });
  });
  with_all([&](int rank) {
    if (ReceiveMessage(rank)) return;
    throw Error(Code::kLost, fmt::format("process {} left before all were linked", rank));
  });
  with_all([&](int rank) { Send(rank, NewMessage(kGo)); });
}

// If process 0 restarts while this process waits, this process starts over.
void Rendezvous::ConnectAsWorker() {
  int known = 1;
  while (known < settings_.size) {
    known = 1;
    while (!ConnectTo(0)) CheckWait({0});
    while (known < settings_.size) {
      const auto message = ReceiveMessage(0);
      if (!message || message->kind != kRoster || message->rank < 1 ||
          message->rank >= settings_.size) {
        At(0) = Linked();
        break;
      }
      group_ = message->group;
      At(message->rank).address = message->text;
      transport_.SetAddress(message->rank, message->text);
      ++known;
    }
  }
  deadline_ = std::max(deadline_, NowSeconds() + kPatienceSecs);
  for (int rank = 1; rank < settings_.rank; ++rank) {
    if (ConnectTo(rank)) continue;
    throw Error(Code::kLost, fmt::format("process {} left before all were linked", rank));
  }
  AcceptOthers();
  Send(0, NewMessage(kReady));
  if (!ReceiveMessage(0)) throw Error(Code::kLost, "process 0 left before all were linked");
}

std::vector<int> Rendezvous::Missing() {
  std::vector<int> missing;
  for (int rank = 0; rank < settings_.size; ++rank) {
    if (rank != settings_.rank && !At(rank).socket.is_open()) missing.push_back(rank);
  }
  return missing;
}

void Rendezvous::CheckWait(const std::vector<int>& missing) const {
  std::vector<std::string> names;
  for (const int rank : missing) names.push_back(std::to_string(rank));
  const std::string who = fmt::format("process{} {} of {}", names.size() > 1 ? "es" : "",
                                      Join(names, ", "), settings_.size);
  if (settings_.gives_up()) {
    throw Error(Code::kPreempted, fmt::format("stopped while waiting for {} to join", who));
  }
  if (NowSeconds() < deadline_) return;
  const std::string why = transport_.connect_error();
  throw Error(Code::kLost,
              fmt::format("{} did not join at {} within {} s{}", who, transport_.place(),
                          NumberText(settings_.rendezvous_secs),
                          why.empty() ? "" : fmt::format(" ({})", why)),
              "a larger tpuest.deadlines.rendezvous_secs waits longer")
      .Key("tpuest.deadlines.rendezvous_secs");
}

bool Rendezvous::ConnectTo(int rank) {
  Message answer;
  while (true) {
    CheckWait(rank == 0 && transport_.connects_via_chief() ? std::vector<int>{0} : Missing());
    Descriptor socket = transport_.Connect(rank);
    const Message hello = socket.is_open() ? NewMessage(kHello, transport_.address()) : Message();
    if (!socket.is_open() ||
        !SendAll(socket.number(), hello.bytes(), NowSeconds() + kHandshakeSecs)) {
      ::poll(nullptr, 0, transport_.connects_via_chief() ? kRemoteRetryMs : kRetryMs);
      continue;
    }
    At(rank).socket = std::move(socket);
    const auto message = ReceiveMessage(rank);
    if (message && message->kind == kWelcome && message->rank == rank) {
      At(rank).pid = message->pid;
      At(rank).address = transport_.AddressOf(rank);
      return true;
    }
    At(rank).socket = Descriptor();
    if (!message || message->kind != kTryAgain) return false;
    ::poll(nullptr, 0, kRemoteRetryMs);
  }
}

void Rendezvous::AcceptOthers() {
  while (true) {
    if (transport_.connects_via_chief() && settings_.rank == 0) DropClosed();
    const std::vector<int> missing = Missing();
    if (missing.empty()) return;
    CheckWait(missing);
    if (!IsReady(transport_.listener(), POLLIN, NowSeconds() + kRetryMs * 1e-3)) continue;
    if (Descriptor socket = transport_.Accept(); socket.is_open()) Answer(std::move(socket));
  }
}

// Forgets processes that left during the wait; they may connect again.
void Rendezvous::DropClosed() {
  for (int rank = 1; rank < settings_.size; ++rank) {
    const Descriptor& socket = At(rank).socket;
    if (!socket.is_open() || !IsReady(socket.number(), POLLIN, 0)) continue;
    if (!ReceiveMessage(rank)) At(rank) = Linked();
  }
}

std::optional<Rendezvous::Message> Rendezvous::ReadMessage(const Descriptor& socket) const {
  Message message;
  if (!ReceiveAll(socket.number(), &message, sizeof message, NowSeconds() + kHandshakeSecs)) {
    return std::nullopt;
  }
  if (message.magic != kRendezvousMagic) return std::nullopt;
  message.text[sizeof message.text - 1] = 0;
  return message;
}

std::optional<Rendezvous::Message> Rendezvous::ReceiveMessage(int rank) {
  // The listening process may itself still wait for others.
  while (!IsReady(At(rank).socket.number(), POLLIN, NowSeconds() + kRetryMs * 1e-3)) {
    const bool is_last = rank == 0 && transport_.connects_via_chief();
    if (is_last && !settings_.gives_up() && NowSeconds() < deadline_ + kPatienceSecs) continue;
    // The link is open but silent: report this process as missing.
    std::vector<int> missing = is_last ? std::vector<int>() : Missing();
    missing.insert(std::upper_bound(missing.begin(), missing.end(), rank), rank);
    CheckWait(missing);
  }
  auto message = ReadMessage(At(rank).socket);
  if (message && message->kind == kRefusal)
    throw Error(static_cast<Code>(message->code), message->text);
  return message;
}

// Whether `hello` is from the process that is already linked: it may notice a broken link first.
bool Rendezvous::IsSame(const Linked& linked, const Message& hello) {
  return linked.pid == hello.pid && !linked.address.empty() && linked.address == hello.text;
}

void Rendezvous::Answer(Descriptor socket) {
  const auto hello = ReadMessage(socket);
  if (!hello || hello->kind != kHello) return;
  const int rank = hello->rank;
  std::string refusal;
  if (hello->protocol != kRendezvousProtocol) {
    refusal = fmt::format("process {} is from a different build of tpuest than process {}", rank,
                          settings_.rank);
  } else if (hello->size != settings_.size) {
    refusal = fmt::format("process {} expects {} processes, process {} expects {}", rank,
                          hello->size, settings_.rank, settings_.size);
  } else if (rank <= settings_.rank || rank >= settings_.size ||
             (At(rank).socket.is_open() && !IsSame(At(rank), *hello))) {
    refusal = fmt::format("process {} of this group has already joined", rank);
  } else if (settings_.rank > 0 && hello->group != group_) {
    return;  // of another rendezvous
  }
  Message answer = NewMessage(refusal.empty() ? kWelcome : kRefusal, refusal);
  answer.code = static_cast<int32_t>(Code::kUsage);
  if (!SendAll(socket.number(), answer.bytes(), NowSeconds() + kHandshakeSecs)) return;
  if (hello->size != settings_.size) throw Error(Code::kUsage, refusal);
  if (refusal.empty()) At(rank) = Linked{std::move(socket), hello->pid, hello->text};
}

void Rendezvous::Send(int rank, const Message& message) {
  // A failed send is ignored: ReceiveMessage notices that the process has ended.
  (void)SendAll(At(rank).socket.number(), message.bytes(), NowSeconds() + kHandshakeSecs);
}

void Rendezvous::SendError(const Error& error) {
  // A worker that gives up may connect again, so its peers keep waiting.
  if (error.code() == Code::kPreempted && settings_.rank > 0) return;
  Message message = NewMessage(kRefusal, error.message());
  message.code = static_cast<int32_t>(error.code());
  for (int rank = 0; rank < settings_.size; ++rank) {
    const bool hears = settings_.rank == 0 || rank == 0;
    if (hears && At(rank).socket.is_open()) Send(rank, message);
  }
}

void Rendezvous::Reject(const Descriptor& socket) {
  const Message message{.kind = kTryAgain};
  (void)SendAll(socket.number(), message.bytes(), NowSeconds());
}

}  // namespace tpuest::hosts
