// The messages of a rendezvous, over sockets of this test.

#include "core/hosts/rendezvous.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/hosts/stream_socket.h"

namespace tpuest::hosts {
namespace {

constexpr double kAnswerSecs = 60;
constexpr size_t kKindAt = 8;  // offset in a message
constexpr size_t kPidAt = 20;
constexpr uint32_t kIsWelcome = 2;
constexpr uint32_t kIsRefusal = 3;

std::pair<Descriptor, Descriptor> Pair() {
  int ends[2] = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A listener to which the test connects, and the only link to process 0.
class TestTransport final : public Transport {
 public:
  TestTransport() : pending_(Pair()) {}

  [[nodiscard]] int listener() const override { return pending_.first.number(); }
  [[nodiscard]] Descriptor Accept() override {
    const std::lock_guard lock(mutex_);
    char byte = 0;
    REQUIRE(::read(pending_.first.number(), &byte, 1) == 1);
    return std::move(at_door_);
  }
  [[nodiscard]] Descriptor Connect(int /*rank*/) override { return std::move(to_chief_); }
  [[nodiscard]] std::string place() const override { return "the test"; }
  [[nodiscard]] bool connects_via_chief() const override { return true; }
  [[nodiscard]] std::string address() const override { return "h1:2222"; }

  void set_to_chief(Descriptor socket) { to_chief_ = std::move(socket); }
  // One that has been taken in knocks no more.
  void Offer(Descriptor socket) {
    const std::lock_guard lock(mutex_);
    at_door_ = std::move(socket);
    REQUIRE(::write(pending_.second.number(), "x", 1) == 1);
  }

 private:
  std::mutex mutex_;
  std::pair<Descriptor, Descriptor> pending_;
  Descriptor at_door_;
  Descriptor to_chief_;
};

// Meets until the test lets it be.
class Joiner {
 public:
  Joiner(TestTransport& transport, int rank)
      : settings_{.rank = rank,
                  .size = 3,
                  .rendezvous = {},
                  .rendezvous_secs = kAnswerSecs,
                  .gives_up = [this] { return ends_.load(); }},
        thread_([this, &transport] {
          try {
            (void)Rendezvous(settings_, transport).ConnectAll();
          } catch (const Error& error) {
            code_ = error.code();
          }
        }) {}
  ~Joiner() {
    ends_ = true;
    thread_.join();
    CHECK(code_ == Code::kPreempted);
  }
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

 private:
  std::atomic<bool> ends_ = false;
  Code code_ = Code::kInternal;
  const LinkSettings settings_;
  std::thread thread_;
};

std::string WordFrom(const Descriptor& socket) {
  REQUIRE(IsReady(socket.number(), POLLIN, NowSeconds() + kAnswerSecs));
  std::array<char, 4096> bytes{};
  const ssize_t size = ::recv(socket.number(), bytes.data(), bytes.size(), 0);
  REQUIRE(size > static_cast<ssize_t>(kPidAt));
  return {bytes.data(), static_cast<size_t>(size)};
}

uint32_t KindOf(const std::string& word) {
  uint32_t kind = 0;
  std::memcpy(&kind, &word[kKindAt], sizeof kind);
  return kind;
}

// Returns the chief's answer to a word; the link stays open.
uint32_t Answer(TestTransport& transport, const std::string& word, std::vector<Descriptor>& links) {
  auto [mine, other] = Pair();
  transport.Offer(std::move(other));
  REQUIRE(SendAll(mine.number(), word, NowSeconds() + kAnswerSecs));
  links.push_back(std::move(mine));
  return KindOf(WordFrom(links.back()));
}

}  // namespace

TEST_CASE(
    "a process whose link to process 0 broke may reconnect; another process of its rank may not") {
  std::string hello;
  {
    auto [mine, other] = Pair();
    TestTransport transport;
    transport.set_to_chief(std::move(other));
    const Joiner worker(transport, 1);
    hello = WordFrom(mine);
  }
  TestTransport transport;
  std::vector<Descriptor> links;
  const Joiner chief(transport, 0);
  CHECK(Answer(transport, hello, links) == kIsWelcome);
  CHECK(Answer(transport, hello, links) ==
        kIsWelcome);  // process 0 has not seen that the first is gone
  hello[kPidAt] ^= 1;
  CHECK(Answer(transport, hello, links) == kIsRefusal);
}

}  // namespace tpuest::hosts
