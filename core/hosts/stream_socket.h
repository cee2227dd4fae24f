#pragma once
// Whole messages over a stream socket, with deadlines on the clock that NowSeconds reads.

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace tpuest::hosts {

// Of a clock that only goes on.
[[nodiscard]] double NowSeconds();

// True once the socket is ready for `events` (poll's); false at the deadline.
[[nodiscard]] bool IsReady(int socket, short events, double deadline);
// False where the other end is gone, or has not taken or sent all by the deadline.
[[nodiscard]] bool SendAll(int socket, std::string_view bytes, double deadline);
// The same of pieces in a row, which it takes from the span as they go.
[[nodiscard]] bool SendAll(int socket, std::span<iovec> pieces, double deadline);
[[nodiscard]] bool ReceiveAll(int socket, void* to, size_t size, double deadline);

}  // namespace tpuest::hosts
