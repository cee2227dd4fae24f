// Groups whose processes are threads of this one.

#include "core/hosts/group.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/process/files.h"
#include "core/base/random.h"
#include "core/hosts/group_collective.h"
#include "core/sharding/tree.h"
#include "tests/temporary_folder.h"

namespace tpuest::hosts {
namespace {

// Limits that a busy machine does not reach, except for the limit under test.
GroupSettings SettingsFor(const TemporaryFolder& folder, int rank, int size) {
  return {.links = {.rank = rank,
                    .size = size,
                    .rendezvous = {.folder = folder.path()},
                    .rendezvous_secs = 120},
          .peer_secs = 120,
          .step_secs = 120};
}

// The error that each process threw; "" if it ended in order.
using Body = std::function<void(Group& group)>;
std::vector<std::string> RunGroup(int size, const Body& body,
                                  const std::function<void(GroupSettings&)>& change = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> thrown(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        GroupSettings settings = SettingsFor(folder, rank, size);
        if (change) change(settings);
        Group group(std::move(settings));
        body(group);
      } catch (const Error& error) {
        thrown[static_cast<size_t>(rank)] =
            fmt::format("{}: {}", static_cast<int>(error.code()), error.message());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

const std::vector<std::string> kAllWell(8);

bool EndedWell(const std::vector<std::string>& thrown) {
  for (const std::string& text : thrown) {
    if (!text.empty()) MESSAGE(text);
  }
  return std::vector<std::string>(kAllWell.begin(), kAllWell.begin() + std::ssize(thrown)) ==
         thrown;
}

// Replica r's part of element i: numbers whose sum depends on the order of the additions.
float PartOf(int replica, int64_t element) {
  const auto words = Philox({.seed = 1, .name = static_cast<uint64_t>(replica)}, 0,
                            static_cast<uint64_t>(element));
  return std::ldexp(UniformFloat(words[0]) - 0.5F, static_cast<int>(words[1] % 40) - 20);
}

std::vector<float> SumInOneProcess(int replicas, int64_t elements) {
  std::vector<float> sums;
  for (int64_t i = 0; i < elements; ++i) {
    std::vector<float> parts;
    for (int r = 0; r < replicas; ++r) parts.push_back(PartOf(r, i));
    sums.push_back(TreeSum<float>(parts));
  }
  return sums;
}

std::vector<float> PartialSums(const Collective& collective, int64_t elements) {
  std::vector<float> sums;
  for (const ReplicaRange& range : collective.parts()) {
    for (int64_t i = 0; i < elements; ++i) {
      std::vector<float> parts;
      for (int r = range.first; r < range.end(); ++r) parts.push_back(PartOf(r, i));
      sums.push_back(TreeSum<float>(parts));
    }
  }
  return sums;
}

// Sums the ranks, with as many parts as each process has.
int64_t SumOfRanks(Collective& collective, int rank) {
  std::vector<int64_t> parts(collective.parts().size(), rank);
  int64_t sum = 0;
  const SharedSum sums[] = {{.dtype = DType::kInt64,
                             .elements = 1,
                             .parts = reinterpret_cast<char*>(parts.data()),
                             .sum = reinterpret_cast<char*>(&sum)}};
  collective.Sum(sums);
  return sum;
}

}  // namespace

TEST_CASE("a sum over the processes of a group is bit-identical to that of one process") {
  const std::vector<std::pair<int, int>> replicas_and_processes = {
      {8, 2}, {8, 4}, {6, 3}, {12, 2}, {12, 3}, {5, 5}, {4, 2}, {16, 2}, {4, 4}};
  for (const auto& [replicas, processes] : replicas_and_processes) {
    // More than two buckets once; two processes with one part each, whose sums all processes add,
    // and sums too large for that.
    const int64_t most = replicas == 6 || replicas == 16 ? 600'001 : replicas == 4 ? 20'003 : 1003;
    const std::vector<float> expected = SumInOneProcess(replicas, most);
    std::atomic<int> wrong = 0;
    const auto thrown = RunGroup(processes, [&, replicas = replicas](Group& group) {
      GroupCollective sum(group, replicas);
      for (const int64_t elements : {most, int64_t{1}, int64_t{0}}) {
        std::vector<float> parts = PartialSums(sum, elements);
        std::vector<float> whole(static_cast<size_t>(elements), -1.0F);
        std::vector<int64_t> ranks(sum.parts().size(), group.rank());
        int64_t all_ranks = 0;
        const SharedSum sums[] = {{.dtype = DType::kFloat,
                                   .elements = elements,
                                   .parts = reinterpret_cast<char*>(parts.data()),
                                   .sum = reinterpret_cast<char*>(whole.data())},
                                  {.dtype = DType::kInt64,
                                   .elements = 1,
                                   .parts = reinterpret_cast<char*>(ranks.data()),
                                   .sum = reinterpret_cast<char*>(&all_ranks)}};
        sum.Sum(sums);
        for (int64_t i = 0; i < elements; ++i) {
          const auto at = static_cast<size_t>(i);
          if (std::bit_cast<uint32_t>(whole[at]) != std::bit_cast<uint32_t>(expected[at])) ++wrong;
        }
        const auto parts_of_each = static_cast<int64_t>(sum.parts().size());
        if (all_ranks != parts_of_each * group.size() * (group.size() - 1) / 2) ++wrong;
      }
    });
    CHECK(EndedWell(thrown));
    CHECK(wrong == 0);
  }
}

TEST_CASE("every process votes, and gathered messages arrive in the order of the processes") {
  std::atomic<int> right = 0;
  const auto thrown = RunGroup(3, [&](Group& group) {
    GroupCollective sum(group, 6);
    if (sum.HoldsInAll(true)) ++right;
    if (!sum.HoldsInAll(group.rank() != 1)) ++right;
    const std::vector<std::string> all =
        sum.Gather(std::string(3, static_cast<char>('a' + group.rank())));
    if (group.is_chief() && all == std::vector<std::string>{"aaa", "bbb", "ccc"}) ++right;
    if (!group.is_chief() && all.empty()) ++right;
    const std::vector<std::string> in_all =
        sum.GatherInAll(std::string(2, static_cast<char>('a' + group.rank())));
    if (in_all == std::vector<std::string>{"aa", "bb", "cc"}) ++right;
    // Between the two halves of an exchange there may be a sum, or the start of another exchange.
    for (const int to : sum.others()) sum.GiveTo(to, fmt::format("{}{}", group.rank(), to));
    sum.GiveWhetherHolds(group.rank() != 2);
    if (SumOfRanks(sum, group.rank()) == 3 * static_cast<int64_t>(sum.parts().size())) ++right;
    while (!sum.IsThereOfAll()) std::this_thread::yield();
    for (const int from : sum.others()) {
      if (sum.TakeFrom(from) == fmt::format("{}{}", from, group.rank())) ++right;
    }
    if (!sum.TakeWhetherHolds(group.rank() != 2)) ++right;
    if (!sum.IsThereOfAll()) ++right;  // everything was taken
  });
  CHECK(EndedWell(thrown));
  CHECK(right == 27);
}

TEST_CASE("large messages in opposite directions do not wait for each other") {
  const auto thrown = RunGroup(3, [&](Group& group) {
    const std::string large(8 << 20, static_cast<char>(group.rank()));
    for (int other = 0; other < 3; ++other) {
      if (other != group.rank())
        group.Send(other, Channel::kData, std::vector<std::string_view>{"head", large});
    }
    for (int other = 0; other < 3; ++other) {
      if (other == group.rank()) continue;
      const std::string got = group.Receive(other, Channel::kData);
      Check(got == "head" + std::string(8 << 20, static_cast<char>(other)));
    }
  });
  CHECK(EndedWell(thrown));
}

TEST_CASE(
    "every process gets a key that any has put, and the wait for a missing key ends at its limit") {
  std::atomic<int> right = 0;
  const auto thrown = RunGroup(3, [&](Group& group) {
    const std::string own = "of " + std::to_string(group.rank());
    group.Put(own, std::string("a\0b", 3) + own);
    for (int rank = 0; rank < 3; ++rank) {
      const std::string key = "of " + std::to_string(rank);
      if (group.Get(key, 60) == std::string("a\0b", 3) + key) ++right;
    }
    if (!group.Get("nothing", 0) && !group.Get("nothing", 0.01)) ++right;
    if (group.rank() == 1) {
      (void)group.Receive(0, Channel::kControl);
      group.Put("late", "there");
      return;
    }
    if (group.is_chief()) group.SendToWorkers("put it");
    if (group.Get("late", 60) == "there") ++right;
  });
  CHECK(EndedWell(thrown));
  CHECK(right == 14);
}

TEST_CASE("a process whose devices do not return is lost") {
  const auto thrown = RunGroup(
      2,
      [&](Group& group) {
        group.SetStep(41, 0.1);
        if (group.rank() == 1) group.DeviceBegins(2);
        (void)group.Receive(1 - group.rank(), Channel::kControl);
      },
      [](GroupSettings& settings) { settings.step_secs = 0.1; });
  REQUIRE(thrown.size() == 2);
  for (const std::string& text : thrown) {
    CHECK(text.find("process 1: its devices did not finish the steps after step 41") !=
          std::string::npos);
  }
}

TEST_CASE("values that differ between processes are refused in all of them, with both values") {
  const auto thrown = RunGroup(3, [](Group& group) {
    group.CheckSame("build", "1");
    group.CheckSame("job", group.rank() == 2 ? "rate: 1\nsteps: 7\n" : "rate: 1\nsteps: 8\n");
  });
  const std::string told =
      "2: process 2 has a different job than process 0: 'steps: 7', process 0 has 'steps: 8'";
  CHECK(thrown == std::vector<std::string>{told, told, told});
}

TEST_CASE("the error of one process ends all processes with its exit code") {
  const auto thrown = RunGroup(3, [](Group& group) {
    if (group.rank() == 1) {
      const Error error(Code::kData, "data.csv: line 3 is damaged");
      group.Fail(error);
      throw Error(error);
    }
    (void)group.Receive(group.is_chief() ? 2 : 0, Channel::kData);
  });
  const std::string told = "3: process 1: data.csv: line 3 is damaged";
  CHECK(thrown == std::vector<std::string>{told, "3: data.csv: line 3 is damaged", told});
}

TEST_CASE("a process that does not send its part of a step is named by its peers") {
  bool evaluates = false;
  std::string did = "waiting for its input";
  SUBCASE("in training") {}
  SUBCASE("in an evaluation") {
    evaluates = true;
    did = "evaluating, waiting for its input";
  }
  std::atomic<bool> over = false;
  const auto thrown = RunGroup(
      2,
      [&](Group& group) {
        if (group.rank() == 1) {
          group.SetStep(41, 0.1);
          group.SetActivity(Activity::kInput);
          group.SetEvaluating(evaluates);
          (void)group.Receive(0, Channel::kControl);
        }
        try {
          (void)group.Receive(1, Channel::kData);
        } catch (const Error&) {
          over = true;
          throw;
        }
      },
      [](GroupSettings& settings) { settings.step_secs = 1.5; });
  CHECK(over);
  REQUIRE(thrown.size() == 2);
  for (const std::string& text : thrown) {
    CHECK(text.starts_with("7: process 1 of 2 (pid "));
    CHECK(text.find("is lost: its part of the step did not arrive within ") != std::string::npos);
    CHECK(text.find("it was at step 41, " + did + ";") != std::string::npos);
  }
}

TEST_CASE("a wait is attributed to the process whose message arrives last") {
  constexpr int kRounds = 1000;
  std::vector<double> waited;
  const auto thrown = RunGroup(3, [&](Group& group) {
    for (int round = 0; round < kRounds; ++round) {
      if (group.is_chief()) {
        const bool is_over = group.waited_for()[2] > 0;
        group.SendToWorkers(is_over ? "end" : "on");
        if (is_over) break;
        const std::vector<int> others{1, 2};
        const std::vector<std::string> came = group.ReceiveEach(others, Channel::kData);
        CHECK(came == std::vector<std::string>{"of 1", "of 2"});
        continue;
      }
      if (group.Receive(0, Channel::kControl) == "end") break;
      // The one of process 2 is sent once that of process 1 is.
      if (group.rank() == 2) (void)group.Receive(1, Channel::kData);
      group.Send(0, Channel::kData, group.rank() == 1 ? "of 1" : "of 2");
      if (group.rank() == 1) group.Send(2, Channel::kData, "sent");
    }
    if (group.is_chief()) waited = group.waited_for();
  });
  CHECK(thrown == std::vector<std::string>(3));
  REQUIRE(waited.size() == 3);
  CHECK(waited[0] == 0);
  CHECK(waited[1] == 0);
  CHECK(waited[2] > 0);
}

// TPUEST_TEST_GROUPS sets a larger number; a thousand groups take about a minute.
TEST_CASE("consecutive groups leave no descriptor open") {
  const auto meet = [] {
    return EndedWell(RunGroup(3, [](Group& group) { group.CheckSame("number", "the same"); }));
  };
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const char* const wanted = std::getenv("TPUEST_TEST_GROUPS");
  const int groups = wanted == nullptr ? 20 : std::atoi(wanted);
  REQUIRE(meet());
  const auto before = open_files();
  for (int i = 0; i < groups; ++i) REQUIRE(meet());
  CHECK(open_files() == before);
}

TEST_CASE("a group refuses missing, duplicate and mismatched processes") {
  SUBCASE("a process that never joins is named") {
    const TemporaryFolder folder;
    GroupSettings settings = SettingsFor(folder, 1, 3);
    settings.links.rendezvous_secs = 0.1;
    try {
      const Group group(settings);
      FAIL("there is no other process");
    } catch (const Error& error) {
      CHECK(error.code() == Code::kLost);
      CHECK(error.message() ==
            fmt::format("processes 0, 2 of 3 did not join at {} within 0.1 s", folder.path()));
    }
  }
  SUBCASE("a rank that is taken, and a different size") {
    const TemporaryFolder folder;
    std::exception_ptr first;
    std::thread chief([&] {
      try {
        const Group group(SettingsFor(folder, 0, 2));
      } catch (...) {
        first = std::current_exception();
      }
    });
    const auto is_there = [&] {
      const std::vector<std::string> names = ListDirectory(folder.path());
      return std::find(names.begin(), names.end(), "0") != names.end();
    };
    while (!is_there()) std::this_thread::yield();
    const auto text_of = [&](int rank, int size) -> std::string {
      try {
        const Group group(SettingsFor(folder, rank, size));
      } catch (const Error& error) {
        return fmt::format("{}: {}", static_cast<int>(error.code()), error.message());
      }
      return "";
    };
    CHECK(text_of(0, 2) ==
          fmt::format("2: {}: process 0 of this group has already joined", folder.path()));
    CHECK(text_of(1, 3) == "2: process 1 expects 3 processes, process 0 expects 2");
    chief.join();
    REQUIRE(first != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(first), Error);
  }
  SUBCASE("a folder that other users may enter") {
    const TemporaryFolder folder;
    REQUIRE(::chmod(folder.path().c_str(), 0750) == 0);
    CHECK_THROWS_AS(Group(SettingsFor(folder, 0, 2)), Error);
  }
}

}  // namespace tpuest::hosts
