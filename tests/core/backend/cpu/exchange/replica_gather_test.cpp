#include "core/backend/cpu/exchange/replica_gather.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/rows/row_table.h"
#include "core/base/message.h"
#include "tests/core/backend/cpu/exchange/other_process.h"
#include "tests/core/backend/rows/numbered_rows.h"

namespace tpuest {
namespace {

// Replicas 2 and 3 of four.
class SecondOfTwo final : public Collective {
 public:
  [[nodiscard]] ReplicaRange share() const override { return {2, 2}; }
  [[nodiscard]] const std::vector<ReplicaRange>& parts() const override { return parts_; }
  void Sum(std::span<const SharedSum> /*sums*/) override {}
  [[nodiscard]] const std::vector<int>& others() const override { return others_; }
  void GiveTo(int rank, std::span<const std::string_view> pieces) override {
    CHECK(rank == 0);
    sent.emplace_back();
    for (const std::string_view piece : pieces) sent.back() += piece;
  }
  [[nodiscard]] std::string TakeFrom(int /*rank*/) override {
    REQUIRE(!given.empty());
    std::string message = std::move(given.front());
    given.pop_front();
    return message;
  }
  [[nodiscard]] bool IsThereOfAll() override { return !given.empty(); }
  [[nodiscard]] std::vector<std::string> TakeAll() override { return {TakeFrom(0), ""}; }
  [[nodiscard]] std::vector<std::string> Gather(std::string_view /*given*/) override { return {}; }

  std::deque<std::string> given;  // from the other process to this one
  std::vector<std::string> sent;  // to the other process

 private:
  std::vector<ReplicaRange> parts_ = {{2, 2}};
  std::vector<int> others_ = {0};
};

// A piece of the gathered data: runs of rows, each from a replica of a job.
template <class Index>
class Piece {
 public:
  Piece& Rows(uint32_t job, uint32_t replica, const std::vector<Index>& numbers,
              std::string_view values) {
    writer_.Number(job);
    writer_.Number(replica);
    writer_.List(numbers);
    writer_.Numbers(values.data(), values.size());
    return *this;
  }
  Piece& Rows(uint32_t job, uint32_t replica, const std::vector<Index>& numbers,
              const std::vector<float>& values) {
    return Rows(job, replica, numbers,
                std::string_view(reinterpret_cast<const char*>(values.data()),
                                 values.size() * sizeof(float)));
  }
  // The end of the last message, for this number of jobs.
  std::string End(uint32_t jobs) { return Rows(jobs, 0, {}, "").Take(); }
  std::string Take() { return writer_.Take(); }

 private:
  MessageWriter writer_;
};

using AtFn = std::function<char*(Buffer, int)>;

// A job whose buffers 0 to 3 hold the numbers and values of a replica, and the number of each;
// followed by their positions.
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
  // Of replicas 2 and 3: three numbers each, and two bytes per number.
  int32_t own[] = {7, -1, 8, 9, -1, -1};
  std::string bytes("ab\0\0cdefxy\0\0", 12);
  std::vector<int32_t> numbers(12, 77);
  std::string values(24, '.');
  const std::vector<GatherJob> jobs = {{.numbers = {{0}, {1}, 3 * sizeof(int32_t)},
                                        .values = {{2}, {3}, 6},
                                        .dtype = DType::kInt32}};
  const AtFn at = MemoryOf(own, numbers.data(), bytes.data(), values.data(), 6);
  SecondOfTwo others;
  others.given = {Piece<int32_t>().Rows(0, 0, {4, 5}, "ABCD").Take(),
                  Piece<int32_t>().Rows(0, 0, {6}, "EF").End(1)};
  ThreadTeam team(2);
  Gather(jobs, at, team, others);
  // A -1 before another number stays.
  CHECK(others.sent ==
        std::vector<std::string>{Piece<int32_t>()
                                     .Rows(0, 0, {7, -1, 8}, std::string_view("ab\0\0cd", 6))
                                     .Rows(0, 1, {9, -1}, "efxy")
                                     .End(1)});
  CHECK(numbers == std::vector<int32_t>{4, 5, 6, -1, -1, -1, 7, -1, 8, 9, -1, -1});
  CHECK(values == "ABCDEF" + std::string(6, '\0') + bytes);
  others.given = {Piece<int32_t>().Rows(0, 0, {4, 5, 6, 7}, "ABCDEFGH").End(1)};
  CHECK_THROWS(Gather(jobs, at, team, others));
  others.given = {Piece<int32_t>().Rows(0, 2, {4}, "AB").End(1)};
  CHECK_THROWS(Gather(jobs, at, team, others));
}

TEST_CASE("rows leave in pieces, and are one whole where they come") {
  // Replicas 2 and 3 have one job with a wide row and one with many rows.
  constexpr size_t kRows = 50000;
  std::vector<std::vector<int64_t>> numbers = {std::vector<int64_t>(kRows),
                                               std::vector<int64_t>(kRows)};
  std::vector<std::vector<float>> values = {std::vector<float>(4 * kRows),
                                            std::vector<float>(4 * kRows)};
  for (size_t i = 0; i < kRows; ++i) numbers[0][i] = numbers[1][i] = static_cast<int64_t>(i);
  for (size_t i = 0; i < 4 * kRows; ++i) values[0][i] = static_cast<float>(i % 999 + 1);
  values[1] = {values[0].rbegin(), values[0].rend()};
  std::vector<int64_t> all_numbers(4 * kRows, 77);
  std::vector<float> all_values(16 * kRows, 77);
  const std::vector<GatherJob> jobs = {{.numbers = {{0}, {1}, kRows * sizeof(int64_t)},
                                        .values = {{2}, {3}, 4 * kRows * sizeof(float)}}};
  const AtFn at = [&](Buffer buffer, int replica) -> char* {
    const auto r = static_cast<size_t>(replica);
    void* const places[] = {numbers[r].data(), all_numbers.data(), values[r].data(),
                            all_values.data()};
    return static_cast<char*>(places[buffer.id]);
  };
  SecondOfTwo others;
  ThreadTeam team(2);
  BeginGather(jobs, others.share(), at, team, &others);
  CHECK(others.sent.size() > 8);
  for (const std::string& piece : others.sent) CHECK(piece.size() < 2 * kExchangedBytes);
  // The other process has sent the same.
  others.given = {others.sent.begin(), others.sent.end()};
  EndGather(jobs, others.share(), at, &others);
  CHECK(others.given.empty());
  for (size_t replica = 0; replica < 4; ++replica) {
    const auto first = static_cast<ptrdiff_t>(replica * kRows);
    CHECK(std::equal(numbers[0].begin(), numbers[0].end(), all_numbers.begin() + first));
    CHECK(std::equal(values[replica % 2].begin(), values[replica % 2].end(),
                     all_values.begin() + 4 * first));
  }
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
  others.given = {Piece<int64_t>().Rows(0, 0, {3, 1}, std::vector<float>{.3F, .11F}).End(1)};
  SUBCASE("dealt out") {
    table->Deal(nullptr);
    Gather(jobs, at, team, others);
    CHECK(numbers == std::vector<int64_t>{3, 1, -1, -1, -1, -1, 5, -1, -1, 1, 9, -1});
    // Values of a -1 stay unchanged.
    CHECK(values == std::vector<float>{.3F, .11F, 77, 77, 77, 77, .5F, 77, 77, .1F, .9F, 77});
    CHECK(others.sent == std::vector<std::string>{Piece<int64_t>()
                                                      .Rows(0, 0, {4}, std::vector<float>{.4F})
                                                      .Rows(0, 1, {8}, std::vector<float>{.8F})
                                                      .End(1)});
  }
  SUBCASE("each process has all of it") {
    Gather(jobs, at, team, others);
    CHECK(numbers == std::vector<int64_t>{3, 1, -1, -1, -1, -1, 5, 4, -1, 1, 9, 8});
    CHECK(values == std::vector<float>{.3F, .11F, 0, 0, 0, 0, .5F, .4F, 0, .1F, .9F, .8F});
    CHECK(others.sent ==
          std::vector<std::string>{Piece<int64_t>()
                                       .Rows(0, 0, {5, 4}, std::vector<float>{.5F, .4F})
                                       .Rows(0, 1, {1, 9, 8}, std::vector<float>{.1F, .9F, .8F})
                                       .End(1)});
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
