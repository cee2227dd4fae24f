#pragma once
// TCP addresses: parses the texts that users and launchers write, and resolves host names.

#include <netinet/in.h>

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::hosts {

// A host and a port, parsed from "h0:2222", "10.0.0.1:2222" or "[::1]:2222"; a text without a port
// gets `usual_port`. ParseHostPort throws kUsage for any other text.
struct HostPort {
  std::string host;
  int port = 0;
};
[[nodiscard]] HostPort ParseHostPort(std::string_view text, int usual_port);

// A numeric IPv4 or IPv6 address with a port.
class SocketAddress {
 public:
  SocketAddress(const sockaddr* address, socklen_t size);

  // "10.0.0.1:2222", "[::1]:2222"
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] SocketAddress WithPort(int port) const;
  // Returns 0 if a process can listen at this address now, otherwise the errno that prevents it.
  [[nodiscard]] int CannotListen() const;
  // The local address, with port 0, that the system would use to reach this one; this address with
  // port 0 if there is no route.
  [[nodiscard]] SocketAddress OwnTowards() const;

 private:
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// The addresses that a host name resolves to now; empty if it does not resolve (yet).
[[nodiscard]] std::vector<SocketAddress> Resolve(const HostPort& at);

// Whether a host is loopback judging only by its text ("localhost", "127.0.0.1", "::1"); no lookup.
[[nodiscard]] bool IsLoopback(const std::string& host);

// This machine's addresses with that port: the addresses that other machines may reach first, then
// loopback.
[[nodiscard]] std::vector<SocketAddress> OwnAddresses(int port);

}  // namespace tpuest::hosts
