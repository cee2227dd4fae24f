#include "core/hosts/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/whole_number.h"
#include "core/hosts/transport.h"

namespace tpuest::hosts {

HostPort ParseHostPort(std::string_view text, int usual_port) {
  const bool in_brackets = text.starts_with('[');
  const size_t bracket = text.find(']');
  const size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        (in_brackets ? colon == bracket + 1 : text.find(':') == colon);
  HostPort found{.port = usual_port};
  std::string_view host = has_port ? text.substr(0, colon) : text;
  if (in_brackets && bracket != std::string_view::npos) host = text.substr(1, bracket - 1);
  found.host = host;
  const bool is_whole = !in_brackets || bracket + 1 == (has_port ? colon : text.size());
  if (has_port) {
    found.port = WholeNumber<int>(std::string(text.substr(colon + 1))).value_or(-1);
  }
  constexpr int kMostPort = 65535;
  const bool is_host = !host.empty() && host.find_first_of(" /[]") == std::string_view::npos;
  if (is_host && is_whole && found.port > 0 && found.port <= kMostPort) return found;
  throw Error(Code::kUsage, fmt::format("the coordinator is '{}'; expected HOST:PORT", text),
              "TPUEST_COORDINATOR=h0:2222, or unix:FOLDER for processes of one machine");
}

SocketAddress::SocketAddress(const sockaddr* address, socklen_t size) : size_(size) {
  std::memcpy(&storage_, address, size);
}

std::string SocketAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (storage_.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage_);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), ntohs(v6.sin6_port));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage_);
  ::inet_ntop(AF_INET, &v4.sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), ntohs(v4.sin_port));
}

bool SocketAddress::is_loopback() const {
  if (storage_.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage_);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage_);
  return (ntohl(v4.sin_addr.s_addr) >> 24U) == IN_LOOPBACKNET;
}

SocketAddress SocketAddress::WithPort(int port) const {
  SocketAddress other = *this;
  // The port is at one place in both families.
  reinterpret_cast<sockaddr_in&>(other.storage_).sin_port = htons(static_cast<uint16_t>(port));
  return other;
}

int SocketAddress::CannotListen() const {
  const Descriptor probe(::socket(storage_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(probe.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // With SO_REUSEADDR two sockets may be bound to an address, but only one can listen.
  return ::bind(probe.number(), raw(), size_) == 0 && ::listen(probe.number(), 1) == 0 ? 0 : errno;
}

SocketAddress SocketAddress::OwnTowards() const {
  // Sends no datagram: connect() only makes the system choose a route.
  const Descriptor probe(::socket(storage_.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress own = *this;
  if (::connect(probe.number(), raw(), size_) == 0) {
    ::getsockname(probe.number(), reinterpret_cast<sockaddr*>(&own.storage_), &own.size_);
  }
  return own.WithPort(0);
}

static std::vector<SocketAddress> LookUp(const HostPort& at, int flags) {
  addrinfo asked{};
  asked.ai_flags = flags;
  asked.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(at.host.c_str(), nullptr, &asked, &found) != 0) return {};
  std::vector<SocketAddress> addresses;
  for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
    if (it->ai_family != AF_INET && it->ai_family != AF_INET6) continue;
    addresses.push_back(SocketAddress(it->ai_addr, it->ai_addrlen).WithPort(at.port));
  }
  ::freeaddrinfo(found);
  return addresses;
}

std::vector<SocketAddress> Resolve(const HostPort& at) { return LookUp(at, 0); }

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  const std::vector<SocketAddress> found = LookUp({.host = host}, AI_NUMERICHOST);
  return !found.empty() && found.front().is_loopback();
}

std::vector<SocketAddress> OwnAddresses(int port) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::vector<SocketAddress> addresses;
  std::vector<SocketAddress> loopback;
  for (const ifaddrs* it = all; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || (it->ifa_flags & IFF_UP) == 0) continue;
    const bool is_v6 = it->ifa_addr->sa_family == AF_INET6;
    if (!is_v6 && it->ifa_addr->sa_family != AF_INET) continue;
    // Link-local addresses are valid on one interface only and need its name.
    if (is_v6 &&
        IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(it->ifa_addr)->sin6_addr)) {
      continue;
    }
    const auto size = static_cast<socklen_t>(is_v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    const SocketAddress address = SocketAddress(it->ifa_addr, size).WithPort(port);
    (address.is_loopback() ? loopback : addresses).push_back(address);
  }
  ::freeifaddrs(all);
  addresses.insert(addresses.end(), loopback.begin(), loopback.end());
  return addresses;
}

}  // namespace tpuest::hosts
