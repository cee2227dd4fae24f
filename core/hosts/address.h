#pragma once
// Addresses of TCP: texts as users and launchers write them, and what they stand for here.

#include <netinet/in.h>

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::hosts {

// "h0:2222", "10.0.0.1:2222", "[::1]:2222". Error kUsage for a text that is none.
struct HostPort {
  std::string host;
  int port = 0;
};
[[nodiscard]] HostPort ParseHostPort(std::string_view text, int usual_port);

// A numeric one, of either family.
class SocketAddress {
 public:
  SocketAddress(const sockaddr* address, socklen_t size);

  // "10.0.0.1:2222", "[::1]:2222"
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] SocketAddress WithPort(int port) const;
  // 0, or why nobody can listen there now, as errno has it.
  [[nodiscard]] int CannotListen() const;
  // This machine's own address, with port 0, on the way to that one. The same where there is no
  // way.
  [[nodiscard]] SocketAddress OwnTowards() const;

 private:
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// What a host's name stands for now; none: nobody knows it, or not yet.
[[nodiscard]] std::vector<SocketAddress> Resolve(const HostPort& at);

// Whether a host is loopback's by its text alone: "localhost", "127.0.0.1", "::1".
[[nodiscard]] bool IsLoopback(const std::string& host);

// This machine's addresses that others may reach, then loopback's, with that port.
[[nodiscard]] std::vector<SocketAddress> OwnAddresses(int port);

}  // namespace tpuest::hosts
