#include "core/backend/cpu/replica_gather.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tpuest {
namespace {

// Replicas 2 and 3 of four; the other process gathers "abcd" and "ABCD".
class SecondOfTwo final : public Collective {
 public:
  [[nodiscard]] ReplicaRange share() const override { return {2, 2}; }
  [[nodiscard]] const std::vector<ReplicaRange>& parts() const override { return parts_; }
  void Sum(std::span<const SharedSum> /*sums*/) override {}
  [[nodiscard]] bool HoldsInAll(bool here) override { return here; }
  [[nodiscard]] std::vector<std::string> GatherInAll(std::string_view given) override {
    return {"abcdAB", std::string(given)};
  }
  [[nodiscard]] std::vector<std::string> Exchange(
      const std::vector<std::string>& /*for_each*/) override {
    return {};
  }
  [[nodiscard]] std::vector<std::string> Gather(std::string_view /*given*/) override { return {}; }

 private:
  std::vector<ReplicaRange> parts_ = {{2, 2}};
};

}  // namespace

TEST_CASE("each process has what all replicas give, in their order") {
  std::string own[] = {"efgh", "EF"};  // of replicas 2 and 3: two bytes each, and one
  std::string all[] = {std::string(8, '.'), std::string(4, '.')};
  const std::vector<GatherJob> jobs = {{{0}, {1}, 2}, {{2}, {3}, 1}};
  const auto at = [&](Buffer buffer, int replica) {
    const size_t job = static_cast<size_t>(buffer.id) / 2;
    if (buffer.id % 2 == 1) return all[job].data();
    return own[job].data() + static_cast<size_t>(replica) * jobs[job].bytes;
  };
  SecondOfTwo others;
  GatherReplicas(jobs, others.share(), at, &others);
  CHECK(all[0] == "abcdefgh");
  CHECK(all[1] == "ABEF");
}

TEST_CASE("one process gathers its own replicas") {
  std::string own = "abc";
  std::string all = "...";
  const auto at = [&](Buffer buffer, int replica) {
    return buffer.id == 1 ? all.data() : own.data() + replica;
  };
  GatherReplicas({{{0}, {1}, 1}}, {0, 3}, at, nullptr);
  CHECK(all == "abc");
}

}  // namespace tpuest
