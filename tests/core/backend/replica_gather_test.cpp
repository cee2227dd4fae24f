#include "core/backend/cpu/replica_gather.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/backend/message.h"
#include "core/backend/row_table.h"
#include "tests/core/backend/numbered_rows.h"
#include "tests/core/backend/other_process.h"

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
      const std::vector<std::string>& for_each) override {
    sent = for_each;
    return {given, ""};
  }
  [[nodiscard]] std::vector<std::string> Gather(std::string_view /*given*/) override { return {}; }

  std::string given;              // by the other process, to this one
  std::vector<std::string> sent;  // to each

 private:
  std::vector<ReplicaRange> parts_ = {{2, 2}};
};

}  // namespace

TEST_CASE("each process has what all replicas give, in their order") {
  std::string own[] = {"efgh", "EF"};  // of replicas 2 and 3: two bytes each, and one
  std::string all[] = {std::string(8, '.'), std::string(4, '.')};
  const std::vector<GatherJob> jobs = {{.numbers = {{0}, {1}, 2}, .values = {{2}, {3}, 1}}};
  const auto at = [&](Buffer buffer, int replica) {
    const size_t part = static_cast<size_t>(buffer.id) / 2;
    if (buffer.id % 2 == 1) return all[part].data();
    return own[part].data() + replica * (part == 0 ? 2 : 1);
  };
  SecondOfTwo others;
  ThreadTeam team(2);
  GatherRows(jobs, others.share(), at, team, &others);
  CHECK(all[0] == "abcdefgh");
  CHECK(all[1] == "ABEF");
}

TEST_CASE("of a table that processes share each gets the gradients of the rows that it owns") {
  const auto table = std::make_shared<RowTable>(
      10, 1, Numbered(),
      RowKeeping{.owners = std::make_shared<OtherProcess>(RowDeal::kMod, 1), .least_shared = 0});
  const RowColumn rows{table, 0};
  // Of replicas 2 and 3: three numbers each, and a gradient of one number each.
  int64_t own[] = {5, 4, -1, 1, 9, 8};
  float gradients[] = {.5F, .4F, 0, .1F, .9F, .8F};
  std::vector<int64_t> numbers(12, 77);
  std::vector<float> values(12, 77);
  const std::vector<GatherJob> jobs = {{.numbers = {{0}, {1}, 3 * sizeof(int64_t)},
                                        .values = {{2}, {3}, 3 * sizeof(float)},
                                        .dtype = DType::kInt64,
                                        .rows = &rows}};
  const auto at = [&](Buffer buffer, int replica) -> char* {
    switch (buffer.id) {
      case 0:
        return reinterpret_cast<char*>(own + 3 * replica);
      case 1:
        return reinterpret_cast<char*>(numbers.data());
      case 2:
        return reinterpret_cast<char*>(gradients + 3 * replica);
      default:
        return reinterpret_cast<char*>(values.data());
    }
  };
  SecondOfTwo others;
  ThreadTeam team(2);
  MessageWriter given;
  given.List(std::vector<int64_t>{3, 1});
  given.Numbers(std::vector<float>{.3F, .11F}.data(), 2);
  given.List(std::vector<int64_t>{});
  others.given = given.bytes();
  SUBCASE("dealt out") {
    table->Deal(nullptr);
    GatherRows(jobs, others.share(), at, team, &others);
    CHECK(numbers == std::vector<int64_t>{3, 1, -1, -1, -1, -1, 5, -1, -1, 1, 9, -1});
    // What belongs to a -1 stays as it was.
    CHECK(values == std::vector<float>{.3F, .11F, 77, 77, 77, 77, .5F, .4F, 0, .1F, .9F, .8F});
    MessageReader sent(others.sent[0]);
    CHECK(sent.List<int64_t>() == std::vector<int64_t>{4});
    CHECK(sent.Number<float>() == .4F);
    CHECK(sent.List<int64_t>() == std::vector<int64_t>{8});
    CHECK(sent.Number<float>() == .8F);
    CHECK(others.sent[1].empty());
  }
  SUBCASE("each process has all of it") {
    CHECK_THROWS(
        GatherRows(jobs, others.share(), at, team, &others));  // "abcdAB" is no such message
    CHECK(others.sent.empty());
  }
}

TEST_CASE("one process gathers its own replicas") {
  ThreadTeam team(2);
  std::string own[] = {"abc", "ABC"};
  std::string all[] = {"...", "..."};
  const auto at = [&](Buffer buffer, int replica) {
    const int part = buffer.id / 2;
    return buffer.id % 2 == 1 ? all[part].data() : own[part].data() + replica;
  };
  GatherRows({{.numbers = {{0}, {1}, 1}, .values = {{2}, {3}, 1}}}, {0, 3}, at, team, nullptr);
  CHECK(all[0] == "abc");
  CHECK(all[1] == "ABC");
}

}  // namespace tpuest
