// Groups by the module that speaks gRPC; their processes are threads of this one, on loopback.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/process/files.h"
#include "core/base/random.h"
#include "core/hosts/address.h"
#include "core/hosts/group.h"
#include "core/hosts/group_collective.h"
#include "core/sharding/tree.h"

namespace tpuest::hosts {
namespace {

constexpr const char* kModule = TPUEST_LINKS_MODULE;  // "" if this build has none
constexpr const char* kToken = "a token of 24 characters";

class TestFolder {
 public:
  TestFolder() : path_(MakeTemporaryFolder("remote_test")) {}
  ~TestFolder() { RemoveTree(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

bool HasModule() {
  const bool has = *kModule != 0;
  if (!has) MESSAGE("this build has no gRPC: not tried");
  return has;
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port without a listener.
int FreePort() {
  const Descriptor probe(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(probe.number(), raw, size) == 0);
  REQUIRE(::getsockname(probe.number(), raw, &size) == 0);
  return ntohs(address.sin_port);
}

GroupSettings SettingsAt(const RendezvousPoint& rendezvous, int rank, int size) {
  return {.links = {.rank = rank, .size = size, .rendezvous = rendezvous, .rendezvous_secs = 120},
          .peer_secs = 120,
          .step_secs = 120};
}

std::string ThrownText(const Error& error) {
  return fmt::format("{}: {}", static_cast<int>(error.code()), error.message());
}

// The error that each process threw; "" if it ended in order.
using Doing = std::function<void(Group& group)>;
using Changing = std::function<void(GroupSettings& settings)>;
std::vector<std::string> RunAt(
    const RendezvousPoint& rendezvous, int size, const Doing& body,
    const Changing& change = [](GroupSettings& /*settings*/) {}) {
  std::vector<std::string> thrown(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        GroupSettings settings = SettingsAt(rendezvous, rank, size);
        change(settings);
        Group group(std::move(settings));
        body(group);
      } catch (const Error& error) {
        thrown[static_cast<size_t>(rank)] = ThrownText(error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

RendezvousPoint AtPort(int port, const std::string& token) {
  return {.chief = fmt::format("127.0.0.1:{}", port), .token = token, .module = kModule};
}

// A program outside the group: it sends something, or nothing, and keeps the connection.
Descriptor Stranger(int port, const std::string& says) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = Loopback(port);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
      0) {
    (void)::send(socket.number(), says.data(), says.size(), MSG_NOSIGNAL);
  }
  return socket;
}

// Relays the bytes between its own port and another one, and inverts one bit of the incoming bytes
// at a given offset.
class Relay {
 public:
  Relay(int to, size_t flip_at)
      : port_(FreePort()), to_(to), flip_at_(flip_at), door_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int yes = 1;
    ::setsockopt(door_.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const sockaddr_in address = Loopback(port_);
    REQUIRE(::bind(door_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    REQUIRE(::listen(door_.number(), 8) == 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~Relay() {
    ::shutdown(door_.number(), SHUT_RDWR);
    thread_.join();
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool has_flipped() const { return has_flipped_; }

 private:
  // Relays connections one by one until the listener is closed.
  void Run() {
    while (true) {
      const Descriptor from(::accept(door_.number(), nullptr, nullptr));
      if (!from.is_open()) return;
      const Descriptor to(::socket(AF_INET, SOCK_STREAM, 0));
      const sockaddr_in address = Loopback(to_);
      if (::connect(to.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0) {
        continue;
      }
      std::thread back([&] { Pass(to, from, nullptr); });
      size_t passed = 0;
      Pass(from, to, &passed);
      back.join();
    }
  }
  // Relays up to the end of `from`. Inverts the bit if `passed` is given.
  void Pass(const Descriptor& from, const Descriptor& to, size_t* passed) {
    std::string bytes(65536, '\0');
    while (true) {
      const ssize_t got = ::recv(from.number(), bytes.data(), bytes.size(), 0);
      if (got <= 0) break;
      const auto count = static_cast<size_t>(got);
      if (passed != nullptr) {
        const size_t at = flip_at_ - *passed;
        if (*passed <= flip_at_ && at < count) {
          bytes[at] = static_cast<char>(bytes[at] ^ 4);
          has_flipped_ = true;
        }
        *passed += count;
      }
      if (::send(to.number(), bytes.data(), count, MSG_NOSIGNAL) != got) break;
    }
    ::shutdown(to.number(), SHUT_RDWR);
    ::shutdown(from.number(), SHUT_RDWR);
  }

  const int port_;
  const int to_;
  const size_t flip_at_;
  const Descriptor door_;
  std::atomic<bool> has_flipped_ = false;
  std::thread thread_;
};

// Every process sends to every other, and all compute a sum.
void Speak(Group& group) {
  const std::string large(3 << 20, static_cast<char>(group.rank()));
  for (int other = 0; other < group.size(); ++other) {
    if (other != group.rank())
      group.Send(other, Channel::kData, std::vector<std::string_view>{"head", large});
  }
  for (int other = 0; other < group.size(); ++other) {
    if (other == group.rank()) continue;
    Check(group.Receive(other, Channel::kData) ==
          "head" + std::string(3 << 20, static_cast<char>(other)));
  }
  GroupCollective sum(group, group.size());
  std::vector<float> parts(1001, 0.1F * static_cast<float>(group.rank() + 1));
  std::vector<float> whole(parts.size());
  const SharedSum sums[] = {{.dtype = DType::kFloat,
                             .elements = std::ssize(parts),
                             .parts = reinterpret_cast<char*>(parts.data()),
                             .sum = reinterpret_cast<char*>(whole.data())}};
  sum.Sum(sums);
  std::vector<float> of_each;
  for (int rank = 0; rank < group.size(); ++rank) {
    of_each.push_back(0.1F * static_cast<float>(rank + 1));
  }
  Check(whole == std::vector<float>(parts.size(), TreeSum<float>(of_each)));
}

}  // namespace

TEST_CASE("a coordinator consists of a host and a port") {
  const auto text_of = [](const char* text) {
    const HostPort at = ParseHostPort(text, 2222);
    return fmt::format("{} {}", at.host, at.port);
  };
  CHECK(text_of("h0:1") == "h0 1");
  CHECK(text_of("h0") == "h0 2222");
  CHECK(text_of("[::1]:65535") == "::1 65535");
  CHECK(text_of("[::1]") == "::1 2222");
  CHECK(text_of("fe80::7") == "fe80::7 2222");
  for (const char* const text :
       {"", ":1", "h0:", "h0:x", "h0:0", "h0:65536", "[::1", "[::1]1", "h 0:1", "http://h0:1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)ParseHostPort(text, 2222), Error);
  }
}

TEST_CASE("loopback addresses are distinguished from addresses that other machines reach") {
  for (const char* const host : {"localhost", "127.0.0.1", "127.3.4.5", "::1"}) {
    CHECK(IsLoopback(host));
    CHECK(Resolve({.host = host, .port = 1}).at(0).is_loopback());
  }
  for (const char* const host : {"10.0.0.1", "2001:db8::1", "h0", ""})
    CHECK_FALSE(IsLoopback(host));
  CHECK(Resolve({.host = "::1", .port = 77}).at(0).text() == "[::1]:77");
  CHECK(Resolve({.host = "127.0.0.1", .port = 77}).at(0).OwnTowards().text() == "127.0.0.1:0");
}

TEST_CASE("processes that know process 0's address speak by gRPC, with a token and without") {
  if (!HasModule()) return;
  for (const char* const token : {kToken, ""}) {
    const auto thrown = RunAt(AtPort(FreePort(), token), 3, Speak);
    CHECK(thrown == std::vector<std::string>(3));
  }
}

TEST_CASE("without a known address process 0 writes its own and a token into a file") {
  if (!HasModule()) return;
  const TestFolder folder;
  const std::string file = JoinPath(folder.path(), "run/.tpuest/rendezvous");
  // The file of a killed process 0, to which no process answers.
  MakeDirectories(DirName(file));
  WriteFileAtomically(file, fmt::format("{}\n127.0.0.1:{}\n", kToken, FreePort()));
  const auto thrown = RunAt({.file = file, .module = kModule}, 3, Speak);
  CHECK(thrown == std::vector<std::string>(3));
  CHECK_FALSE(FileExists(file));
}

TEST_CASE("a process without the token cannot join") {
  if (!HasModule()) return;
  const int port = FreePort();
  for (const char* const other : {"another token of a cluster", ""}) {
    const auto thrown = RunAt(AtPort(port, kToken), 2, Speak, [&](GroupSettings& settings) {
      settings.links.rendezvous_secs = 2;
      if (settings.links.rank == 1) settings.links.rendezvous.token = other;
    });
    CAPTURE(other);
    CHECK(thrown[0].starts_with(
        fmt::format("7: process 1 of 2 did not join at 127.0.0.1:{} within 2 s", port)));
    if (*other == 0) {
      CHECK(thrown[1] == fmt::format("2: the process at 127.0.0.1:{} has a cluster token, but this "
                                     "one has none",
                                     port));
    } else {
      CHECK(thrown[1] ==
            fmt::format("2: the process at 127.0.0.1:{} has a different cluster token, "
                        "or none",
                        port));
    }
  }
}

TEST_CASE("unauthenticated connections have no effect, before the group is complete and after") {
  if (!HasModule()) return;
  for (const char* const token : {kToken, ""}) {
    const int port = FreePort();
    std::vector<Descriptor> strangers;
    const auto thrown = RunAt(AtPort(port, token), 2, [&](Group& group) {
      if (group.is_chief()) {
        for (int i = 0; i < 20; ++i) {
          strangers.push_back(Stranger(port, ""));
          strangers.push_back(Stranger(port, std::string(1024, static_cast<char>(i))));
          strangers.push_back(Stranger(port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\njunk of a stranger"));
        }
      }
      Speak(group);
    });
    CHECK(thrown == std::vector<std::string>(2));
  }
}

TEST_CASE("a bit that changes in transit ends all processes with code 7, encrypted or not") {
  if (!HasModule()) return;
  for (const char* const token : {kToken, ""}) {
    const int port = FreePort();
    // Within the three megabytes that process 1 sends.
    const Relay relay(port, 1'500'000);
    const auto thrown = RunAt(AtPort(port, token), 2, Speak, [&](GroupSettings& settings) {
      if (settings.links.rank == 1) settings.links.rendezvous = AtPort(relay.port(), token);
    });
    CAPTURE(token);
    CAPTURE(thrown[1]);
    CHECK(relay.has_flipped());
    CHECK(thrown[0].starts_with("7: process 1 of 2 (pid "));
    CHECK(thrown[1].starts_with("7: process "));
    if (*token == 0) {
      CHECK(thrown[0].find("a frame that it sent was damaged in transit") != std::string::npos);
    }
  }
}

TEST_CASE("process 0 refuses duplicate and mismatched processes") {
  if (!HasModule()) return;
  SUBCASE("a different size") {
    const auto thrown = RunAt(AtPort(FreePort(), kToken), 2, Speak, [](GroupSettings& settings) {
      if (settings.links.rank == 1) settings.links.size = 3;
    });
    const std::string told = "2: process 1 expects 3 processes, process 0 expects 2";
    CHECK(thrown == std::vector<std::string>{told, told});
  }
  SUBCASE("a rank that is taken") {
    const auto thrown = RunAt(AtPort(FreePort(), kToken), 3, Speak, [](GroupSettings& settings) {
      settings.links.rendezvous_secs = 3;
      if (settings.links.rank == 2) settings.links.rank = 1;
    });
    // Whichever process came second.
    int taken = 0;
    for (const std::string& text : thrown) {
      if (text == "2: process 1 of this group has already joined") ++taken;
    }
    CHECK(taken == 1);
  }
}

TEST_CASE("a process whose link ends is lost, and the message names its rank, pid and address") {
  if (!HasModule()) return;
  const auto thrown = RunAt(
      AtPort(FreePort(), kToken), 2,
      [](Group& group) {
        group.SetStep(41, 0.1);
        (void)group.Receive(1 - group.rank(), Channel::kData);
      },
      [](GroupSettings& settings) {
        if (settings.links.rank == 0) settings.step_secs = 1;
      });
  CHECK(thrown[0].starts_with("7: process 1 of 2 (pid "));
  CHECK(thrown[0].find(" at 127.0.0.1:") != std::string::npos);
  CHECK(thrown[1] == thrown[0]);
}

TEST_CASE("an address that other machines reach needs a token and a build with gRPC") {
  const auto text_of = [](const RendezvousPoint& rendezvous) -> std::string {
    try {
      const Group group(SettingsAt(rendezvous, 1, 2));
    } catch (const Error& error) {
      return ThrownText(error);
    }
    return "";
  };
  CHECK(text_of({.chief = "127.0.0.1:2222"}) ==
        "2: processes on several machines need gRPC, but this tpuest was built without it");
  if (!HasModule()) return;
  CHECK(text_of({.chief = "192.0.2.1:2222", .module = kModule}) ==
        "2: 192.0.2.1:2222 is not a loopback address, and no cluster token is set");
  CHECK(text_of({.chief = "h0:0", .module = kModule}) ==
        "2: the coordinator is 'h0:0'; expected HOST:PORT");
}

}  // namespace tpuest::hosts
