// Random one-op graphs: some with the suite, any number for tests/bench/one_op_graphs.py, which
// sets
//
//   TPUEST_RANDOM_GRAPHS   "FIRST COUNT FILE": the seeds FIRST .. FIRST + COUNT - 1; FILE holds the
//                          seed at hand, eight bytes. Prints a line for each graph: seed, op,
//                          outcome (ran, refused, memory, bug) and message, with tabs between them.
//   TPUEST_RANDOM_GRAPH    "SEED": prints that graph.

#include "tests/core/ops/random_graphs.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace tpuest {
namespace {

constexpr const char* kOutcomes[] = {"ran", "refused", "memory", "bug"};

// Allocations beyond this limit fail.
void LimitMemory() {
  constexpr rlim_t kMostBytes = rlim_t{2} << 30;
  const rlimit limit{kMostBytes, kMostBytes};
  (void)setrlimit(RLIMIT_AS, &limit);
  const rlimit no_core{0, 0};
  (void)setrlimit(RLIMIT_CORE, &no_core);
}

void RunAndPrint(uint64_t first, uint64_t count, const std::string& file) {
  const int at_hand = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  REQUIRE(at_hand >= 0);
  LimitMemory();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    REQUIRE(pwrite(at_hand, &seed, sizeof(seed), 0) == sizeof(seed));
    RandomRun run = RunRandomGraph(seed);
    std::replace_if(
        run.message.begin(), run.message.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    std::printf("%llu\t%s\t%s\t%s\n", static_cast<unsigned long long>(seed), run.op.c_str(),
                kOutcomes[static_cast<int>(run.outcome)], run.message.c_str());
    std::fflush(stdout);
  }
  close(at_hand);
}

TEST_CASE("a random graph of one op runs or is refused in words") {
  if (const char* const seed = std::getenv("TPUEST_RANDOM_GRAPH")) {
    std::fputs(RandomGraphText(std::strtoull(seed, nullptr, 10)).c_str(), stdout);
    return;
  }
  if (const char* const wanted = std::getenv("TPUEST_RANDOM_GRAPHS")) {
    uint64_t first = 0;
    uint64_t count = 0;
    std::string file;
    std::istringstream(wanted) >> first >> count >> file;
    return RunAndPrint(first, count, file);
  }
  constexpr uint64_t kGraphs = 500;
  int ran = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const RandomRun run = RunRandomGraph(seed);
    INFO("TPUEST_RANDOM_GRAPH=", seed, " prints this graph of ", run.op);
    CHECK_MESSAGE(run.outcome != Outcome::kBug, run.message);
    ran += run.outcome == Outcome::kRan ? 1 : 0;
  }
  CHECK(ran > static_cast<int>(kGraphs) / 5);
}

}  // namespace
}  // namespace tpuest
