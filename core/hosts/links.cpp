#include "core/hosts/links.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

constexpr uint32_t kMagic = 0x6b6e6c74;  // "tlnk"
constexpr uint32_t kProtocol = 1;
constexpr int kTickMs = 20;
constexpr int kTryMs = 20;            // between two tries to reach a process that is not there yet
constexpr double kHandshakeSecs = 5;  // for who has come to say who it is
constexpr uint64_t kMostBytes = uint64_t{1} << 34;

// The head of every frame; all numbers are as the processor has them: both ends are on it.
struct Frame {
  uint32_t magic = kMagic;
  FrameKind kind = 0;
  uint16_t unused = 0;
  uint64_t bytes = 0;  // that follow
};
static_assert(sizeof(Frame) == 16);

enum class Answer : uint32_t { kHello = 1, kWelcome = 2, kRefusal = 3 };

struct Hello {
  uint32_t magic = kMagic;
  uint32_t protocol = kProtocol;
  Answer answer = Answer::kHello;
  int32_t rank = 0;
  int32_t size = 0;
  int32_t pid = 0;
  char text[200] = {};  // of a refusal, ends with 0
};

double Now() { return SystemClock().Seconds(); }

int MsUntil(double deadline) {
  return static_cast<int>(std::clamp((deadline - Now()) * 1000, 0.0, 60'000.0)) + 1;
}

// True once the socket is ready; false at the deadline.
bool Ready(int socket, short events, double deadline) {
  while (true) {
    pollfd waited{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&waited, 1, MsUntil(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (Now() >= deadline) return false;
  }
}

bool SendAll(int socket, std::string_view bytes, double deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (!Ready(socket, POLLOUT, deadline)) return false;
  }
  return true;
}

bool ReceiveAll(int socket, void* to, size_t size, double deadline) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::recv(socket, at, size, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      size -= static_cast<size_t>(got);
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    if (!Ready(socket, POLLIN, deadline)) return false;
  }
  return true;
}

std::string_view HelloBytes(const Hello& hello) {
  return {reinterpret_cast<const char*>(&hello), sizeof hello};
}

Descriptor NewSocket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.is_open()) return socket;
  throw Error(Code::kResource, fmt::format("no socket can be made: {}", std::strerror(errno)));
}

// By the open folder, since the name of a socket may have 107 bytes at most.
sockaddr_un AddressIn(const Descriptor& folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder.number(), name);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Descriptor OpenFolder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!folder.is_open() || ::fstat(folder.number(), &info) != 0) {
    throw Error(
        Code::kUsage,
        fmt::format("{}: the group's folder cannot be opened ({})", path, std::strerror(errno)),
        "make it before its processes start, with mode 0700");
  }
  if (info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) return folder;
  throw Error(Code::kUsage,
              fmt::format("{}: others may enter the group's folder (mode {:04o}, of user {})", path,
                          info.st_mode & 07777, info.st_uid),
              "a folder of your own with mode 0700");
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Links::Links(const LinkSettings& settings)
    : settings_(settings), folder_(OpenFolder(settings.folder)) {
  for (int rank = 0; rank < settings_.size; ++rank) {
    peers_.push_back(rank == settings_.rank ? nullptr : std::make_unique<Peer>());
  }
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error(Code::kResource, fmt::format("no pipe can be made: {}", std::strerror(errno)));
  }
  wake_ = {Descriptor(ends[0]), Descriptor(ends[1])};
  const double deadline = Now() + settings_.rendezvous_secs;
  Bind();
  for (int rank = 0; rank < settings_.rank; ++rank) GoTo(rank, deadline);
  AwaitOthers(deadline);
}

Links::~Links() {
  ending_ = true;
  const char byte = 0;
  [[maybe_unused]] const ssize_t told = ::write(wake_[1].number(), &byte, 1);
  if (reader_.joinable()) reader_.join();
  ::unlink(AddressIn(folder_, std::to_string(settings_.rank)).sun_path);
}

// The socket gets its name once it is listened on: one that refuses is of a process that was
// killed.
void Links::Bind() {
  door_ = NewSocket();
  const sockaddr_un address = AddressIn(folder_, std::to_string(settings_.rank));
  const sockaddr_un before =
      AddressIn(folder_, fmt::format("{}.{}.{}", settings_.rank, ::getpid(), door_.number()));
  bool is_named =
      ::bind(door_.number(), reinterpret_cast<const sockaddr*>(&before), sizeof before) == 0 &&
      ::listen(door_.number(), settings_.size + 16) == 0 &&
      ::link(before.sun_path, address.sun_path) == 0;
  if (!is_named && errno == EEXIST) {
    const Descriptor probe = NewSocket();
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(probe.number(), at, sizeof address) == 0) {
      ::unlink(before.sun_path);
      throw Error(Code::kUsage,
                  fmt::format("{}: process {} of this group is there already", settings_.folder,
                              settings_.rank),
                  "every process has a number of its own, every group a folder");
    }
    ::unlink(address.sun_path);
    is_named = ::link(before.sun_path, address.sun_path) == 0;
  }
  const int number = errno;
  ::unlink(before.sun_path);
  if (is_named) return;
  throw Error(Code::kResource, fmt::format("{}: a socket cannot be made here ({})",
                                           settings_.folder, std::strerror(number)));
}

std::vector<int> Links::Missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < settings_.size; ++rank) {
    const auto& peer = peers_[Index(rank)];
    if (peer != nullptr && !peer->socket.is_open()) missing.push_back(rank);
  }
  return missing;
}

// Throws where the wait for others is over: at the deadline, or given up.
static void CheckWait(const LinkSettings& settings, const std::vector<int>& missing,
                      double deadline) {
  std::vector<std::string> names;
  for (const int rank : missing) names.push_back(std::to_string(rank));
  const std::string who = fmt::format("process{} {} of {}", names.size() > 1 ? "es" : "",
                                      Join(names, ", "), settings.size);
  if (settings.gives_up()) {
    throw Error(Code::kPreempted, fmt::format("stopped while waiting for {}", who));
  }
  if (Now() < deadline) return;
  throw Error(Code::kLost,
              fmt::format("{} did not come to {} within {} s", who, settings.folder,
                          NumberText(settings.rendezvous_secs)),
              "tpuest.deadlines.rendezvous_secs waits longer")
      .Key("tpuest.deadlines.rendezvous_secs");
}

void Links::GoTo(int rank, double deadline) {
  const sockaddr_un address = AddressIn(folder_, std::to_string(rank));
  Descriptor socket = NewSocket();
  while (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
         0) {
    CheckWait(settings_, Missing(), deadline);
    ::poll(nullptr, 0, kTryMs);
    socket = NewSocket();
  }
  const Hello mine{.rank = settings_.rank, .size = settings_.size, .pid = ::getpid()};
  Hello answer;
  bool answered = SendAll(socket.number(), HelloBytes(mine), Now() + kHandshakeSecs);
  // Who is come to may wait for processes of lower ranks itself.
  while (answered && !Ready(socket.number(), POLLIN, Now() + kTryMs * 1e-3)) {
    CheckWait(settings_, Missing(), deadline);
  }
  answered =
      answered && ReceiveAll(socket.number(), &answer, sizeof answer, Now() + kHandshakeSecs);
  if (!answered || answer.magic != kMagic || answer.rank != rank) {
    throw Error(Code::kLost, fmt::format("process {} left before all had come", rank));
  }
  if (answer.answer == Answer::kRefusal) {
    answer.text[sizeof answer.text - 1] = 0;
    throw Error(Code::kUsage, answer.text);
  }
  peers_[Index(rank)]->socket = std::move(socket);
  peers_[Index(rank)]->pid = answer.pid;
}

void Links::AwaitOthers(double deadline) {
  while (true) {
    const std::vector<int> missing = Missing();
    if (missing.empty()) return;
    CheckWait(settings_, missing, deadline);
    if (!Ready(door_.number(), POLLIN, Now() + kTryMs * 1e-3)) continue;
    Descriptor socket(::accept4(door_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.is_open()) Welcome(std::move(socket));
  }
}

void Links::Welcome(Descriptor socket) {
  Hello hello;
  if (!ReceiveAll(socket.number(), &hello, sizeof hello, Now() + kHandshakeSecs)) return;
  if (hello.magic != kMagic || hello.answer != Answer::kHello) return;
  Hello answer{.answer = Answer::kWelcome,
               .rank = settings_.rank,
               .size = settings_.size,
               .pid = ::getpid()};
  std::string refusal;
  const bool is_awaited = hello.rank > settings_.rank && hello.rank < settings_.size &&
                          !peers_[Index(hello.rank)]->socket.is_open();
  if (hello.protocol != kProtocol) {
    refusal = fmt::format("process {} is another build of tpuest than process {}", hello.rank,
                          settings_.rank);
  } else if (hello.size != settings_.size) {
    refusal = fmt::format("process {} is one of {}, process {} one of {}", hello.rank, hello.size,
                          settings_.rank, settings_.size);
  } else if (!is_awaited) {
    refusal = fmt::format("process {} of this group is there already", hello.rank);
  }
  if (!refusal.empty()) {
    answer.answer = Answer::kRefusal;
    std::memcpy(answer.text, refusal.data(), std::min(refusal.size(), sizeof answer.text - 1));
  }
  if (!SendAll(socket.number(), HelloBytes(answer), Now() + kHandshakeSecs)) return;
  if (hello.size != settings_.size) throw Error(Code::kUsage, refusal);
  if (!refusal.empty()) return;
  peers_[Index(hello.rank)]->socket = std::move(socket);
  peers_[Index(hello.rank)]->pid = hello.pid;
}

void Links::Listen(Listener listener) {
  listener_ = std::move(listener);
  reader_ = std::thread([this] { Read(); });
}

void Links::Read() {
  while (!ending_) {
    std::vector<pollfd> waited{{.fd = wake_[0].number(), .events = POLLIN, .revents = 0},
                               {.fd = door_.number(), .events = POLLIN, .revents = 0}};
    std::vector<int> ranks{-1, -1};
    for (int rank = 0; rank < settings_.size; ++rank) {
      const auto& peer = peers_[Index(rank)];
      if (peer == nullptr || peer->closed) continue;
      waited.push_back({.fd = peer->socket.number(), .events = POLLIN, .revents = 0});
      ranks.push_back(rank);
    }
    ::poll(waited.data(), waited.size(), kTickMs);
    // All have come: who comes now asks whether this rank is taken, or is nobody.
    if (waited[1].revents != 0) {
      const Descriptor late(::accept4(door_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    for (size_t i = 2; i < waited.size() && !ending_; ++i) {
      std::string why;
      if (waited[i].revents == 0 || ReadFrom(ranks[i], why)) continue;
      peers_[Index(ranks[i])]->closed = true;
      listener_.closed(ranks[i], why);
    }
    listener_.tick();
  }
}

bool Links::ReadFrom(int rank, std::string& why) {
  Peer& peer = *peers_[Index(rank)];
  while (true) {
    char head[sizeof(Frame)];
    char* to = peer.in_body ? peer.body.data() + peer.has : head;
    const size_t left = peer.in_body ? peer.body.size() - peer.has : sizeof head - peer.head.size();
    const ssize_t got = ::recv(peer.socket.number(), to, left, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      why = got == 0 ? "its link was closed" : std::string("its link broke: ") + strerror(errno);
      return false;
    }
    if (peer.in_body) {
      peer.has += static_cast<size_t>(got);
    } else {
      peer.head.append(head, static_cast<size_t>(got));
      if (peer.head.size() < sizeof(Frame)) continue;
      Frame frame;
      std::memcpy(&frame, peer.head.data(), sizeof frame);
      if (frame.magic != kMagic || frame.bytes > kMostBytes) {
        why = "what it sent is no frame";
        return false;
      }
      peer.kind = frame.kind;
      peer.body.resize(frame.bytes);
      peer.has = 0;
      peer.in_body = true;
    }
    if (peer.has < peer.body.size()) continue;
    peer.in_body = false;
    peer.head.clear();
    listener_.frame(rank, peer.kind, std::exchange(peer.body, {}));
  }
}

bool Links::Send(int to, FrameKind kind, std::string_view head, std::string_view body,
                 double limit_secs) {
  Peer& peer = *peers_[Index(to)];
  const Frame frame{.kind = kind, .bytes = head.size() + body.size()};
  std::string first(reinterpret_cast<const char*>(&frame), sizeof frame);
  first += head;
  // A small body goes with its head, in one call.
  constexpr size_t kSmall = 16384;
  const bool is_small = body.size() <= kSmall;
  if (is_small) first += body;
  const double deadline = Now() + limit_secs;
  std::unique_lock lock(peer.sending, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (Now() >= deadline) return false;
    ::poll(nullptr, 0, 1);
    (void)lock.try_lock();
  }
  if (peer.closed) return false;
  if (SendAll(peer.socket.number(), first, deadline) &&
      (is_small || SendAll(peer.socket.number(), body, deadline))) {
    return true;
  }
  // Part of a frame may have gone: nothing more can follow it.
  HangUp(to);
  return false;
}

void Links::SendIfReady(int to, FrameKind kind, std::string_view bytes) {
  Peer& peer = *peers_[Index(to)];
  const std::unique_lock lock(peer.sending, std::try_to_lock);
  if (!lock.owns_lock() || peer.closed || !Ready(peer.socket.number(), POLLOUT, 0)) return;
  const Frame frame{.kind = kind, .bytes = bytes.size()};
  std::string all(reinterpret_cast<const char*>(&frame), sizeof frame);
  all += bytes;
  constexpr double kRestSecs = 1;  // for a frame that has gone in part
  if (!SendAll(peer.socket.number(), all, Now() + kRestSecs)) HangUp(to);
}

void Links::HangUp(int to) { ::shutdown(peers_[Index(to)]->socket.number(), SHUT_RDWR); }

}  // namespace tpuest
