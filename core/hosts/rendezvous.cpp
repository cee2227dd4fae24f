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

constexpr uint32_t kMeetMagic = 0x6b6e6c74;  // "tlnk"
constexpr uint32_t kMeetProtocol = 2;
constexpr int kMeetTryMs = 20;  // between two attempts to reach a process that does not listen yet
constexpr int kMeetFarTryMs = 200;    // the same for another machine
constexpr double kHandshakeSecs = 5;  // for a new connection to send its kHello
// Extra wait of a worker: process 0 has the same deadline and then sends the reason why the group
// is not complete.
constexpr double kPatienceSecs = 5;

enum Saying : uint32_t {
  kHello = 1,
  kWelcome = 2,
  kRefusal = 3,
  kLate = 4,
  kRoster = 5,
  kReady = 6,
  kGo = 7
};

}  // namespace

// One message of the rendezvous. Numbers are in the processor's byte order, which all processes of
// a group share.
struct Rendezvous::Word {
  uint32_t magic = kMeetMagic;
  uint32_t protocol = kMeetProtocol;
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

Rendezvous::Word Rendezvous::NewWord(uint32_t kind, const std::string& text) const {
  Word word{.kind = kind,
            .rank = settings_.rank,
            .size = settings_.size,
            .pid = ::getpid(),
            .group = group_};
  std::memcpy(word.text, text.data(), std::min(text.size(), sizeof word.text - 1));
  return word;
}

std::vector<Linked> Rendezvous::Meet() {
  linked_.clear();
  linked_.resize(static_cast<size_t>(settings_.size));
  deadline_ = NowSeconds() + settings_.rendezvous_secs;
  if (!way_.meets_by_chief()) {
    MeetByRank();
  } else {
    try {
      settings_.rank == 0 ? MeetAsChief() : MeetAsWorker();
    } catch (const Error& error) {
      TellOthers(error);
      throw;
    }
  }
  way_.Complete();
  return std::move(linked_);
}

void Rendezvous::MeetByRank() {
  for (int rank = 0; rank < settings_.rank; ++rank) {
    if (GoTo(rank)) continue;
    throw Error(Code::kLost, fmt::format("process {} left before all had joined", rank));
  }
  AwaitOthers();
}

void Rendezvous::MeetAsChief() {
  if (::getrandom(&group_, sizeof group_, 0) != sizeof group_ || group_ == 0) group_ = 1;
  AwaitOthers();
  const auto with_all = [this](const auto& act) {
    for (int rank = 1; rank < settings_.size; ++rank) act(rank);
  };
  with_all([&](int to) {
    with_all([&](int about) {
      Word word = NewWord(kRoster, At(about).address);
      word.rank = about;
      Say(to, word);
    });
  });
  with_all([&](int rank) {
    if (AwaitWord(rank)) return;
    throw Error(Code::kLost, fmt::format("process {} left before all were linked", rank));
  });
  with_all([&](int rank) { Say(rank, NewWord(kGo)); });
}

// If process 0 restarts while this process waits, this process starts over.
void Rendezvous::MeetAsWorker() {
  int known = 1;
  while (known < settings_.size) {
    known = 1;
    while (!GoTo(0)) CheckWait({0});
    while (known < settings_.size) {
      const auto word = AwaitWord(0);
      if (!word || word->kind != kRoster || word->rank < 1 || word->rank >= settings_.size) {
        At(0) = Linked();
        break;
      }
      group_ = word->group;
      At(word->rank).address = word->text;
      way_.Learn(word->rank, word->text);
      ++known;
    }
  }
  deadline_ = std::max(deadline_, NowSeconds() + kPatienceSecs);
  for (int rank = 1; rank < settings_.rank; ++rank) {
    if (GoTo(rank)) continue;
    throw Error(Code::kLost, fmt::format("process {} left before all were linked", rank));
  }
  AwaitOthers();
  Say(0, NewWord(kReady));
  if (!AwaitWord(0)) throw Error(Code::kLost, "process 0 left before all were linked");
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
  const std::string why = way_.why_not();
  throw Error(Code::kLost,
              fmt::format("{} did not join at {} within {} s{}", who, way_.place(),
                          NumberText(settings_.rendezvous_secs),
                          why.empty() ? "" : fmt::format(" ({})", why)),
              "a larger tpuest.deadlines.rendezvous_secs waits longer")
      .Key("tpuest.deadlines.rendezvous_secs");
}

bool Rendezvous::GoTo(int rank) {
  Word answer;
  while (true) {
    CheckWait(rank == 0 && way_.meets_by_chief() ? std::vector<int>{0} : Missing());
    Descriptor socket = way_.GoTo(rank);
    const Word hello = socket.is_open() ? NewWord(kHello, way_.address()) : Word();
    if (!socket.is_open() ||
        !SendAll(socket.number(), hello.bytes(), NowSeconds() + kHandshakeSecs)) {
      ::poll(nullptr, 0, way_.meets_by_chief() ? kMeetFarTryMs : kMeetTryMs);
      continue;
    }
    At(rank).socket = std::move(socket);
    const auto word = AwaitWord(rank);
    if (word && word->kind == kWelcome && word->rank == rank) {
      At(rank).pid = word->pid;
      At(rank).address = way_.AddressOf(rank);
      return true;
    }
    At(rank).socket = Descriptor();
    if (!word || word->kind != kLate) return false;
    ::poll(nullptr, 0, kMeetFarTryMs);
  }
}

void Rendezvous::AwaitOthers() {
  while (true) {
    if (way_.meets_by_chief() && settings_.rank == 0) DropGone();
    const std::vector<int> missing = Missing();
    if (missing.empty()) return;
    CheckWait(missing);
    if (!IsReady(way_.door(), POLLIN, NowSeconds() + kMeetTryMs * 1e-3)) continue;
    if (Descriptor socket = way_.Take(); socket.is_open()) Welcome(std::move(socket));
  }
}

// Forgets processes that left during the wait; they may connect again.
void Rendezvous::DropGone() {
  for (int rank = 1; rank < settings_.size; ++rank) {
    const Descriptor& socket = At(rank).socket;
    if (!socket.is_open() || !IsReady(socket.number(), POLLIN, 0)) continue;
    if (!AwaitWord(rank)) At(rank) = Linked();
  }
}

std::optional<Rendezvous::Word> Rendezvous::ReadWord(const Descriptor& socket) const {
  Word word;
  if (!ReceiveAll(socket.number(), &word, sizeof word, NowSeconds() + kHandshakeSecs)) {
    return std::nullopt;
  }
  if (word.magic != kMeetMagic) return std::nullopt;
  word.text[sizeof word.text - 1] = 0;
  return word;
}

std::optional<Rendezvous::Word> Rendezvous::AwaitWord(int rank) {
  // The listening process may itself still wait for others.
  while (!IsReady(At(rank).socket.number(), POLLIN, NowSeconds() + kMeetTryMs * 1e-3)) {
    const bool is_last = rank == 0 && way_.meets_by_chief();
    if (is_last && !settings_.gives_up() && NowSeconds() < deadline_ + kPatienceSecs) continue;
    // The link is open but silent: report this process as missing.
    std::vector<int> missing = is_last ? std::vector<int>() : Missing();
    missing.insert(std::upper_bound(missing.begin(), missing.end(), rank), rank);
    CheckWait(missing);
  }
  auto word = ReadWord(At(rank).socket);
  if (word && word->kind == kRefusal) throw Error(static_cast<Code>(word->code), word->text);
  return word;
}

// Whether `hello` is from the process that is already linked: it may notice a broken link first.
bool Rendezvous::IsSame(const Linked& linked, const Word& hello) {
  return linked.pid == hello.pid && !linked.address.empty() && linked.address == hello.text;
}

void Rendezvous::Welcome(Descriptor socket) {
  const auto hello = ReadWord(socket);
  if (!hello || hello->kind != kHello) return;
  const int rank = hello->rank;
  std::string refusal;
  if (hello->protocol != kMeetProtocol) {
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
  Word answer = NewWord(refusal.empty() ? kWelcome : kRefusal, refusal);
  answer.code = static_cast<int32_t>(Code::kUsage);
  if (!SendAll(socket.number(), answer.bytes(), NowSeconds() + kHandshakeSecs)) return;
  if (hello->size != settings_.size) throw Error(Code::kUsage, refusal);
  if (refusal.empty()) At(rank) = Linked{std::move(socket), hello->pid, hello->text};
}

void Rendezvous::Say(int rank, const Word& word) {
  // A failed send is ignored: AwaitWord notices that the process has ended.
  (void)SendAll(At(rank).socket.number(), word.bytes(), NowSeconds() + kHandshakeSecs);
}

void Rendezvous::TellOthers(const Error& error) {
  // A worker that gives up may connect again, so its peers keep waiting.
  if (error.code() == Code::kPreempted && settings_.rank > 0) return;
  Word word = NewWord(kRefusal, error.message());
  word.code = static_cast<int32_t>(error.code());
  for (int rank = 0; rank < settings_.size; ++rank) {
    const bool hears = settings_.rank == 0 || rank == 0;
    if (hears && At(rank).socket.is_open()) Say(rank, word);
  }
}

void Rendezvous::TurnAway(const Descriptor& socket) {
  const Word word{.kind = kLate};
  (void)SendAll(socket.number(), word.bytes(), NowSeconds());
}

}  // namespace tpuest::hosts
