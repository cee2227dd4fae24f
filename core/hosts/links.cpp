#include "core/hosts/links.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/hosts/stream_socket.h"
#include "core/io/crc32c.h"

namespace tpuest::hosts {
namespace {

constexpr uint32_t kMagic = 0x6b6e6c74;  // "tlnk"
constexpr int kTickMs = 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 34;
// Smallest frame that is kept for reuse.
constexpr size_t kLeastSpare = size_t{1} << 15;
constexpr size_t kMostSpare = size_t{1} << 26;  // of all kept frames together
constexpr const char* kChanged = "a frame that it sent was damaged in transit";

// The head of every frame. Numbers are in the processor's byte order, which both ends share.
struct Frame {
  uint32_t magic = kMagic;
  FrameKind kind = 0;
  uint16_t unused = 0;
  uint64_t bytes = 0;     // that follow the head
  uint32_t crc = 0;       // of the bytes that follow
  uint32_t head_crc = 0;  // of the fields before this one
};
static_assert(sizeof(Frame) == 24);

uint32_t HeadCrc(const Frame& frame) {
  return Crc32c({reinterpret_cast<const char*>(&frame), offsetof(Frame, head_crc)});
}

// Returns the head of a frame that consists of these pieces.
Frame HeadOf(FrameKind kind, std::span<const std::string_view> pieces, bool is_checked) {
  Frame frame{.kind = kind};
  for (const std::string_view piece : pieces) {
    frame.bytes += piece.size();
    if (is_checked) frame.crc = Crc32c(piece, frame.crc);
  }
  if (is_checked) frame.head_crc = HeadCrc(frame);
  return frame;
}

// The head and the pieces as buffers to send.
std::vector<iovec> AllOf(const Frame& head, std::span<const std::string_view> pieces) {
  std::vector<iovec> all{{.iov_base = const_cast<Frame*>(&head), .iov_len = sizeof head}};
  for (const std::string_view piece : pieces) {
    all.push_back({.iov_base = const_cast<char*>(piece.data()), .iov_len = piece.size()});
  }
  return all;
}

std::unique_ptr<Transport> OpenTransport(const LinkSettings& settings) {
  const RendezvousPoint& rendezvous = settings.rendezvous;
  if (rendezvous.folder.empty()) return OpenGrpcTransport(rendezvous, settings.rank);
  return OpenUnixTransport(rendezvous.folder, settings.rank, settings.size);
}

}  // namespace

Links::Links(const LinkSettings& settings)
    : settings_(settings),
      is_checked_(settings.rendezvous.folder.empty()),
      transport_(OpenTransport(settings_)) {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error(Code::kResource, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  wake_ = {Descriptor(ends[0]), Descriptor(ends[1])};
  std::vector<Linked> linked = Rendezvous(settings_, *transport_).ConnectAll();
  for (int rank = 0; rank < settings_.size; ++rank) {
    auto& peer = peers_.emplace_back(rank == settings_.rank ? nullptr : std::make_unique<Peer>());
    if (peer != nullptr) peer->linked = std::move(linked[Index(rank)]);
  }
}

Links::~Links() {
  ending_ = true;
  const char byte = 0;
  [[maybe_unused]] const ssize_t told = ::write(wake_[1].number(), &byte, 1);
  if (reader_.joinable()) reader_.join();
}

std::string Links::NameOf(int rank) const {
  const Linked& linked = peers_[Index(rank)]->linked;
  const std::string name = fmt::format("pid {}", linked.pid);
  return linked.address.empty() ? name : fmt::format("{} at {}", name, linked.address);
}

void Links::Listen(Listener listener) {
  listener_ = std::move(listener);
  reader_ = std::thread([this] { Read(); });
}

void Links::Read() {
  while (!ending_) {
    std::vector<pollfd> waited{{.fd = wake_[0].number(), .events = POLLIN, .revents = 0},
                               {.fd = transport_->listener(), .events = POLLIN, .revents = 0}};
    std::vector<int> ranks{-1, -1};
    for (int rank = 0; rank < settings_.size; ++rank) {
      const auto& peer = peers_[Index(rank)];
      if (peer == nullptr || peer->closed) continue;
      waited.push_back({.fd = peer->linked.socket.number(), .events = POLLIN, .revents = 0});
      ranks.push_back(rank);
    }
    ::poll(waited.data(), waited.size(), kTickMs);
    // The group is complete: a new connection belongs to another rendezvous or to no group.
    if (waited[1].revents != 0) {
      const Descriptor late = transport_->Accept();
      if (late.is_open()) {
        Rendezvous::Reject(late);
        ++rejected_;
      }
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
    const ssize_t got = ::recv(peer.linked.socket.number(), to, left, MSG_DONTWAIT);
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
      if (is_checked_ && frame.head_crc != HeadCrc(frame)) {
        why = kChanged;
        return false;
      }
      if (frame.magic != kMagic || frame.bytes > kMostBytes) {
        why = "it sent bytes that are not a frame";
        return false;
      }
      peer.kind = frame.kind;
      peer.crc = frame.crc;
      peer.body = spare_.Take(frame.bytes);
      peer.has = 0;
      peer.in_body = true;
    }
    if (peer.has < peer.body.size()) continue;
    if (is_checked_ && Crc32c(peer.body) != peer.crc) {
      why = kChanged;
      return false;
    }
    peer.in_body = false;
    peer.head.clear();
    listener_.frame(rank, peer.kind, std::exchange(peer.body, {}));
  }
}

bool Links::Send(int to, FrameKind kind, std::span<const std::string_view> pieces,
                 double limit_secs) {
  Peer& peer = *peers_[Index(to)];
  const Frame head = HeadOf(kind, pieces, is_checked_);
  std::vector<iovec> all = AllOf(head, pieces);
  const double deadline = NowSeconds() + limit_secs;
  std::unique_lock lock(peer.sending, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (NowSeconds() >= deadline) return false;
    ::poll(nullptr, 0, 1);
    (void)lock.try_lock();
  }
  if (peer.closed) return false;
  if (SendAll(peer.linked.socket.number(), all, deadline)) return true;
  // A part of the frame may have been sent; no other frame can follow it.
  Close(to);
  return false;
}

void Links::SendIfReady(int to, FrameKind kind, std::string_view bytes) {
  Peer& peer = *peers_[Index(to)];
  const std::unique_lock lock(peer.sending, std::try_to_lock);
  if (!lock.owns_lock() || peer.closed || !IsReady(peer.linked.socket.number(), POLLOUT, 0)) return;
  const std::span<const std::string_view> pieces(&bytes, 1);
  const Frame head = HeadOf(kind, pieces, is_checked_);
  std::vector<iovec> all = AllOf(head, pieces);
  constexpr double kRestSecs = 1;  // to send the rest of a frame
  if (!SendAll(peer.linked.socket.number(), all, NowSeconds() + kRestSecs)) Close(to);
}

std::string Links::SpareFrames::Take(size_t bytes) {
  std::string frame;
  {
    const std::lock_guard lock(mutex_);
    // A spare frame of the same size needs no bytes initialized.
    auto found = std::find_if(frames_.begin(), frames_.end(),
                              [&](const std::string& each) { return each.size() == bytes; });
    if (found == frames_.end() && bytes >= kLeastSpare && !frames_.empty()) found = frames_.begin();
    if (found != frames_.end()) {
      std::swap(*found, frames_.back());
      frame = std::move(frames_.back());
      frames_.pop_back();
      bytes_ -= frame.size();
    }
  }
  frame.resize(bytes);
  return frame;
}

void Links::SpareFrames::Give(std::string&& frame) {
  if (frame.size() < kLeastSpare) return;
  const std::lock_guard lock(mutex_);
  if (bytes_ + frame.size() > kMostSpare) return;
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
}

void Links::Reuse(std::string&& bytes) { spare_.Give(std::move(bytes)); }

void Links::Close(int to) { ::shutdown(peers_[Index(to)]->linked.socket.number(), SHUT_RDWR); }

}  // namespace tpuest::hosts
