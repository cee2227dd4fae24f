#include "core/hosts/stream_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/base/clock.h"

namespace tpuest::hosts {
namespace {

int MsUntil(double deadline) {
  return static_cast<int>(std::clamp((deadline - NowSeconds()) * 1000, 0.0, 60'000.0)) + 1;
}

}  // namespace

double NowSeconds() { return SystemClock().Seconds(); }

bool IsReady(int socket, short events, double deadline) {
  while (true) {
    pollfd waited{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&waited, 1, MsUntil(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (NowSeconds() >= deadline) return false;
  }
}

bool SendAll(int socket, std::string_view bytes, double deadline) {
  iovec piece{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  return SendAll(socket, std::span(&piece, 1), deadline);
}

bool SendAll(int socket, std::span<iovec> pieces, double deadline) {
  while (true) {
    while (!pieces.empty() && pieces.front().iov_len == 0) pieces = pieces.subspan(1);
    if (pieces.empty()) return true;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = std::min<size_t>(pieces.size(), IOV_MAX);
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0 && !IsReady(socket, POLLOUT, deadline)) return false;
    for (size_t left = sent < 0 ? 0 : static_cast<size_t>(sent); left > 0;) {
      iovec& piece = pieces.front();
      const size_t gone = std::min(left, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + gone;
      piece.iov_len -= gone;
      left -= gone;
      if (piece.iov_len == 0) pieces = pieces.subspan(1);
    }
  }
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
    if (!IsReady(socket, POLLIN, deadline)) return false;
  }
  return true;
}

}  // namespace tpuest::hosts
