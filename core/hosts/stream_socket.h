#pragma once
// Sends and receives whole messages over a stream socket. Deadlines are times of NowSeconds.

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace tpuest::hosts {

// Seconds of a monotonic clock.
[[nodiscard]] double NowSeconds();

// Waits until the socket is ready for `events` (poll's); returns false at the deadline.
[[nodiscard]] bool IsReady(int socket, short events, double deadline);
// SendAll and ReceiveAll return false if the peer has closed, or the transfer is incomplete at the
// deadline.
[[nodiscard]] bool SendAll(int socket, std::string_view bytes, double deadline);
// Sends several buffers in order. Modifies the entries of `pieces` as it advances.
[[nodiscard]] bool SendAll(int socket, std::span<iovec> pieces, double deadline);
[[nodiscard]] bool ReceiveAll(int socket, void* to, size_t size, double deadline);

}  // namespace tpuest::hosts
