// The words that processes say when they meet, over sockets of this test.

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
constexpr size_t kKindAt = 8;  // in a word
constexpr size_t kPidAt = 20;
constexpr uint32_t kIsWelcome = 2;
constexpr uint32_t kIsRefusal = 3;

std::pair<Descriptor, Descriptor> Pair() {
  int ends[2] = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A door at which the test knocks, and the one way to process 0.
class TestWay final : public Way {
 public:
  TestWay() : bell_(Pair()) {}

  [[nodiscard]] int door() const override { return bell_.first.number(); }
  [[nodiscard]] Descriptor Take() override {
    const std::lock_guard lock(mutex_);
    char byte = 0;
    REQUIRE(::read(bell_.first.number(), &byte, 1) == 1);
    return std::move(at_door_);
  }
  [[nodiscard]] Descriptor GoTo(int /*rank*/) override { return std::move(to_chief_); }
  [[nodiscard]] std::string place() const override { return "the test"; }
  [[nodiscard]] bool meets_by_chief() const override { return true; }
  [[nodiscard]] std::string address() const override { return "h1:2222"; }

  void set_to_chief(Descriptor socket) { to_chief_ = std::move(socket); }
  // One that has been taken in knocks no more.
  void Knock(Descriptor socket) {
    const std::lock_guard lock(mutex_);
    at_door_ = std::move(socket);
    REQUIRE(::write(bell_.second.number(), "x", 1) == 1);
  }

 private:
  std::mutex mutex_;
  std::pair<Descriptor, Descriptor> bell_;
  Descriptor at_door_;
  Descriptor to_chief_;
};

// Meets until the test lets it be.
class Meeter {
 public:
  Meeter(TestWay& way, int rank)
      : settings_{.rank = rank,
                  .size = 3,
                  .meeting = {},
                  .rendezvous_secs = kAnswerSecs,
                  .gives_up = [this] { return ends_.load(); }},
        thread_([this, &way] {
          try {
            (void)Rendezvous(settings_, way).Meet();
          } catch (const Error& error) {
            code_ = error.code();
          }
        }) {}
  ~Meeter() {
    ends_ = true;
    thread_.join();
    CHECK(code_ == Code::kPreempted);
  }
  Meeter(const Meeter&) = delete;
  Meeter& operator=(const Meeter&) = delete;

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

// What the chief answers to a word; the link stays.
uint32_t Answer(TestWay& way, const std::string& word, std::vector<Descriptor>& links) {
  auto [mine, other] = Pair();
  way.Knock(std::move(other));
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
    TestWay way;
    way.set_to_chief(std::move(other));
    const Meeter worker(way, 1);
    hello = WordFrom(mine);
  }
  TestWay way;
  std::vector<Descriptor> links;
  const Meeter chief(way, 0);
  CHECK(Answer(way, hello, links) == kIsWelcome);
  CHECK(Answer(way, hello, links) == kIsWelcome);  // process 0 has not seen that the first is gone
  hello[kPidAt] ^= 1;
  CHECK(Answer(way, hello, links) == kIsRefusal);
}

}  // namespace tpuest::hosts
