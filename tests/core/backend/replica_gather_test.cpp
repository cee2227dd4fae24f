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

// Replicas 2 and 3 of four.
class SecondOfTwo final : public Collective {
 public:
  [[nodiscard]] ReplicaRange share() const override { return {2, 2}; }
  [[nodiscard]] const std::vector<ReplicaRange>& parts() const override { return parts_; }
  void Sum(std::span<const SharedSum> /*sums*/) override {}
  void Give(std::span<const std::string> for_each) override {
    sent.assign(for_each.begin(), for_each.end());
  }
  void GiveAll(std::span<const std::string_view> pieces) override {
    for (const std::string_view piece : pieces) sent_to_all += piece;
  }
  [[nodiscard]] std::vector<std::string> Take() override { return {given, ""}; }
  [[nodiscard]] std::vector<std::string> Gather(std::string_view /*given*/) override { return {}; }

  std::string given;              // by the other process, to this one
  std::vector<std::string> sent;  // to each
  std::string sent_to_all;

 private:
  std::vector<ReplicaRange> parts_ = {{2, 2}};
};

using AtFn = std::function<char*(Buffer, int)>;

// Of a job whose buffers 0 to 3 are the numbers and values of a replica, three and so many, each
// before the same of all: where they are.
template <class Number, class Value>
AtFn MemoryOf(Number* own, Number* numbers, Value* own_values, Value* values, ptrdiff_t many) {
  return [=](Buffer buffer, int replica) -> char* {
    switch (buffer.id) {
      case 0:
        return reinterpret_cast<char*>(own + ptrdiff_t{3} * replica);
      case 1:
        return reinterpret_cast<char*>(numbers);
      case 2:
        return reinterpret_cast<char*>(own_values + many * replica);
      default:
        return reinterpret_cast<char*>(values);
    }
  };
}

void Gather(const std::vector<GatherJob>& jobs, const AtFn& at, ThreadTeam& team,
            SecondOfTwo& others) {
  BeginGather(jobs, others.share(), at, team, &others);
  EndGather(jobs, others.share(), at, &others);
}

}  // namespace

TEST_CASE("each process has what all replicas give, in their order, but for what fills up") {
  // Of replicas 2 and 3: three numbers each, and two bytes of each number.
  int32_t own[] = {7, -1, 8, 9, -1, -1};
  std::string bytes("ab\0\0cdefxy\0\0", 12);
  std::vector<int32_t> numbers(12, 77);
  std::string values(24, '.');
  const std::vector<GatherJob> jobs = {{.numbers = {{0}, {1}, 3 * sizeof(int32_t)},
                                        .values = {{2}, {3}, 6},
                                        .dtype = DType::kInt32}};
  const AtFn at = MemoryOf(own, numbers.data(), bytes.data(), values.data(), 6);
  const auto message = [](const std::vector<std::pair<std::vector<int32_t>, std::string>>& rows) {
    MessageWriter writer;
    for (const auto& [of_replica, with] : rows) {
      writer.List(of_replica);
      writer.Numbers(with.data(), with.size());
    }
    return writer.Take();
  };
  SecondOfTwo others;
  others.given = message({{{4, 5, 6}, "ABCDEF"}, {{}, ""}});
  ThreadTeam team(2);
  Gather(jobs, at, team, others);
  // A -1 with something behind it stays.
  CHECK(others.sent_to_all ==
        message({{{7, -1, 8}, std::string("ab\0\0cd", 6)}, {{9, -1}, "efxy"}}));
  CHECK(numbers == std::vector<int32_t>{4, 5, 6, -1, -1, -1, 7, -1, 8, 9, -1, -1});
  CHECK(values == "ABCDEF" + std::string(6, '\0') + bytes);
  others.given = message({{{4, 5, 6, 7}, "ABCDEFGH"}, {{}, ""}});
  CHECK_THROWS(Gather(jobs, at, team, others));
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
  const AtFn at = MemoryOf(own, numbers.data(), gradients, values.data(), 3);
  SecondOfTwo others;
  ThreadTeam team(2);
  MessageWriter given;
  given.List(std::vector<int64_t>{3, 1});
  given.Numbers(std::vector<float>{.3F, .11F}.data(), 2);
  given.List(std::vector<int64_t>{});
  others.given = given.bytes();
  SUBCASE("dealt out") {
    table->Deal(nullptr);
    Gather(jobs, at, team, others);
    CHECK(numbers == std::vector<int64_t>{3, 1, -1, -1, -1, -1, 5, -1, -1, 1, 9, -1});
    // What belongs to a -1 stays as it was.
    CHECK(values == std::vector<float>{.3F, .11F, 77, 77, 77, 77, .5F, 77, 77, .1F, .9F, 77});
    MessageReader sent(others.sent[0]);
    CHECK(sent.List<int64_t>() == std::vector<int64_t>{4});
    CHECK(sent.Number<float>() == .4F);
    CHECK(sent.List<int64_t>() == std::vector<int64_t>{8});
    CHECK(sent.Number<float>() == .8F);
    CHECK(others.sent[1].empty());
  }
  SUBCASE("each process has all of it") {
    Gather(jobs, at, team, others);
    CHECK(numbers == std::vector<int64_t>{3, 1, -1, -1, -1, -1, 5, 4, -1, 1, 9, 8});
    CHECK(values == std::vector<float>{.3F, .11F, 0, 0, 0, 0, .5F, .4F, 0, .1F, .9F, .8F});
    CHECK(others.sent.empty());
    MessageReader sent(others.sent_to_all);
    CHECK(sent.List<int64_t>() == std::vector<int64_t>{5, 4});
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
  BeginGather({{.numbers = {{0}, {1}, 1}, .values = {{2}, {3}, 1}}}, {0, 3}, at, team, nullptr);
  CHECK(all[0] == "abc");
  CHECK(all[1] == "ABC");
}

}  // namespace tpuest
