#include "core/hosts/stream_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/base/clock.h"

namespace tpuest {
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
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (!IsReady(socket, POLLOUT, deadline)) return false;
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
    if (!IsReady(socket, POLLIN, deadline)) return false;
  }
  return true;
}

}  // namespace tpuest
