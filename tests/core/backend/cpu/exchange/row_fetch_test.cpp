#include "core/backend/cpu/exchange/row_fetch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/backend/bind.h"
#include "core/backend/cpu/program.h"
#include "core/backend/rows/row_table.h"
#include "core/backend/schedule.h"
#include "core/ops/all_ops.h"
#include "core/ops/state.h"
#include "tests/core/backend/cpu/exchange/other_process.h"
#include "tests/core/backend/rows/numbered_rows.h"

namespace tpuest {
namespace {

// One of two processes within this one: a message is available when the other has sent it.
class OneOfTwo final : public Collective {
 public:
  explicit OneOfTwo(int rank) : share_{rank, 1}, parts_{share_}, others_{1 - rank} {}
  void MeetWith(OneOfTwo& other) { other_ = &other; }

  [[nodiscard]] ReplicaRange share() const override { return share_; }
  [[nodiscard]] const std::vector<ReplicaRange>& parts() const override { return parts_; }
  void Sum(std::span<const SharedSum> /*sums*/) override {}
  [[nodiscard]] const std::vector<int>& others() const override { return others_; }
  void GiveTo(int /*rank*/, std::span<const std::string_view> pieces) override {
    std::string message;
    for (const std::string_view piece : pieces) message += piece;
    {
      const std::lock_guard lock(other_->mutex_);
      other_->there.push_back(message);
    }
    other_->given_.notify_one();
    largest = std::max(largest, message.size());
  }
  [[nodiscard]] std::string TakeFrom(int /*rank*/) override {
    std::unique_lock lock(mutex_);
    Check(given_.wait_for(lock, std::chrono::minutes(2), [this] { return !there.empty(); }));
    std::string message = std::move(there.front());
    there.pop_front();
    return message;
  }
  [[nodiscard]] bool IsThereOfAll() override {
    const std::lock_guard lock(mutex_);
    return !there.empty();
  }
  [[nodiscard]] std::vector<std::string> TakeAll() override { return {}; }
  [[nodiscard]] std::vector<std::string> Gather(std::string_view /*given*/) override { return {}; }

  std::deque<std::string> there;
  size_t largest = 0;  // largest message in bytes

 private:
  const ReplicaRange share_;
  const std::vector<ReplicaRange> parts_;
  const std::vector<int> others_;
  OneOfTwo* other_ = nullptr;
  std::mutex mutex_;
  std::condition_variable given_;
};

constexpr int64_t kAskedRows = 100'000;
constexpr int64_t kAskedWidth = 4;

// A process with two tables, of which it owns every other row; in a third of these rows the weights
// are minus the row's number. Buffer i has the numbers that lookup i of its replica reads.
struct Process {
  explicit Process(int rank) : collective(rank) {
    for (int i = 0; i < 2; ++i) {
      const RowKeeping keeping{.owners = std::make_shared<OtherProcess>(RowDeal::kMod, rank),
                               .least_shared = 0};
      columns.push_back(
          {std::make_shared<RowTable>(kAskedRows, kAskedWidth, Numbered(), keeping), 0});
      columns.back().table->Deal(nullptr);
      for (int64_t row = rank; row < kAskedRows; row += 2) {
        if (row % 3 != 0) continue;
        const std::vector<float> values(kAskedWidth, -static_cast<float>(row + i));
        columns.back().table->Write(0, row, values.data());
      }
    }
  }
  FetchJob JobOf(size_t table, int buffer) {
    return {.rows = &columns[table],
            .ids = {.id = buffer},
            .elements = std::ssize(ids[static_cast<size_t>(buffer)])};
  }
  void Compile() {
    std::vector<const PhaseFetches*> by_phase;
    for (const PhaseFetches& phase : phases) by_phase.push_back(&phase);
    fetches = std::make_unique<RowFetches>(
        by_phase, 1,
        [this](Buffer buffer, int /*replica*/) -> const void* {
          return ids[static_cast<size_t>(buffer.id)].data();
        },
        &collective);
  }
  // The number of looked-up rows that differ from their owner's.
  [[nodiscard]] int64_t WrongOf(size_t table, int buffer) const {
    int64_t wrong = 0;
    for (const int64_t row : ids[static_cast<size_t>(buffer)]) {
      if (row < 0 || row >= kAskedRows) continue;
      std::vector<float> values(kAskedWidth);
      columns[table].table->Read(0, std::span(&row, 1), values.data());
      const float expected = row % 3 == 0 ? -static_cast<float>(row + static_cast<int64_t>(table))
                                          : static_cast<float>(row * kAskedWidth + 3);
      if (values[3] != expected) ++wrong;
    }
    return wrong;
  }

  OneOfTwo collective;
  std::vector<RowColumn> columns;
  std::vector<std::vector<int64_t>> ids;
  std::vector<PhaseFetches> phases;
  std::unique_ptr<RowFetches> fetches;
};

struct TwoProcesses {
  TwoProcesses() {
    first.collective.MeetWith(second.collective);
    second.collective.MeetWith(first.collective);
  }
  Process first{0};
  Process second{1};
};

}  // namespace

TEST_CASE("rows of others are asked for, answered while phases run, and there for their lookup") {
  TwoProcesses two;
  for (Process* const process : {&two.first, &two.second}) {
    process->ids.resize(2);
    // Many numbers of one table, some twice and some out of range; few of the other table.
    for (int64_t i = 0; i < 60'000; ++i) process->ids[0].push_back(i * 7 % (kAskedRows / 2));
    process->ids[0].push_back(-1);
    process->ids[0].push_back(kAskedRows);
    process->ids[1] = {3, 6, 7, 3};
    process->phases.resize(3);
    process->phases[0].asks = {2};
    process->phases[2].jobs = {process->JobOf(0, 0), process->JobOf(1, 1)};
    process->Compile();
  }
  two.first.fetches->Prepare(0, false);
  two.first.fetches->AnswerIfAsked();
  CHECK(two.first.collective.there.empty());
  two.second.fetches->Prepare(0, false);
  CHECK_FALSE(two.first.collective.there.empty());
  SUBCASE("while a phase runs") {
    two.first.fetches->AnswerIfAsked();
    two.second.fetches->AnswerIfAsked();
    two.first.fetches->AnswerIfAsked();
    two.first.fetches->Prepare(1, false);
    two.second.fetches->Prepare(1, false);
    two.second.fetches->Prepare(2, false);
    two.first.fetches->Prepare(2, false);
  }
  SUBCASE("before the rows are taken") {
    std::thread other([&] {
      two.second.fetches->Prepare(1, false);
      two.second.fetches->Prepare(2, false);
    });
    two.first.fetches->Prepare(1, false);
    two.first.fetches->Prepare(2, false);
    other.join();
  }
  for (Process* const process : {&two.first, &two.second}) {
    CHECK(process->collective.there.empty());
    CHECK(process->WrongOf(0, 0) == 0);
    CHECK(process->WrongOf(1, 1) == 0);
    // Includes the number of rows per table.
    CHECK(process->collective.largest <= kExchangedBytes + 2 * sizeof(uint64_t));
    CHECK(process->collective.largest > kExchangedBytes / 2);
    process->fetches->ReleaseRemote();
    CHECK(process->columns[0].table->remote().rows.empty());
  }
}

TEST_CASE("what is asked for of several phases comes in the order of its messages") {
  TwoProcesses two;
  for (Process* const process : {&two.first, &two.second}) {
    process->ids = {{1, 2, 3, 30}, {4, 5, 6}, {9, 10, 30}};
    process->phases.resize(4);
    // The rows of phases 2 and 3 together; those of phase 3's second table when phase 2 begins.
    process->phases[0].asks = {1, 2};
    process->phases[2].asks = {3};
    process->phases[1].jobs = {process->JobOf(0, 0)};
    process->phases[2].jobs = {process->JobOf(1, 1)};
    process->phases[3].jobs = {process->JobOf(0, 2)};
    process->Compile();
  }
  two.first.fetches->Prepare(0, false);
  two.second.fetches->Prepare(0, false);
  two.second.fetches->AnswerIfAsked();
  two.first.fetches->AnswerIfAsked();
  for (size_t phase = 1; phase < 3; ++phase) {
    two.first.fetches->Prepare(phase, false);
    two.second.fetches->Prepare(phase, false);
  }
  CHECK(two.first.WrongOf(0, 0) + two.second.WrongOf(0, 0) == 0);
  CHECK(two.first.WrongOf(1, 1) + two.second.WrongOf(1, 1) == 0);
  two.second.fetches->AnswerIfAsked();
  two.first.fetches->AnswerIfAsked();
  two.first.fetches->Prepare(3, true);
  two.second.fetches->Prepare(3, true);
  CHECK(two.first.WrongOf(0, 2) + two.second.WrongOf(0, 2) == 0);
  CHECK(two.first.collective.there.empty());
  CHECK(two.second.collective.there.empty());
}

TEST_CASE("a phase that gives something else when it begins leaves no question open") {
  TwoProcesses two;
  for (Process* const process : {&two.first, &two.second}) {
    process->ids = {{1, 2, 3, 30}};
    process->phases.resize(2);
    process->phases[0].asks = {1};
    process->phases[1].jobs = {process->JobOf(0, 0)};
    process->Compile();
  }
  std::thread other([&] { two.second.fetches->Prepare(0, true); });
  two.first.fetches->Prepare(0, true);
  other.join();
  CHECK(two.first.collective.there.empty());
  CHECK(two.second.collective.there.empty());
  two.first.fetches->Prepare(1, false);
  CHECK(two.first.WrongOf(0, 0) == 0);
}

TEST_CASE("what needs no rows of others is computed between the question and their lookup") {
  const OpRegistry registry(ops::AllOps());
  Graph graph(registry);
  Variable* const table =
      graph.AddVariable("t", DType::kFloat, {9, 2}, graph.Constant(Tensor(DType::kFloat, {9, 2})));
  const Value raw = graph.Placeholder(DType::kInt64, {8}, "ids");
  const Value x = graph.Placeholder(DType::kFloat, {8, 2}, "x");
  const Value ids = graph.Add("AddV2", {raw, raw}, {}, "twice");
  const Value dense = graph.Add("Mul", {x, x}, {}, "dense");
  const Value rows = ops::ResourceGather(table->handle, ids, "rows");
  const Value sum = graph.Add("AddV2", {rows, dense}, {}, "sum");
  const ProgramSpec spec{&graph,
                         {{.placeholder = raw, .shape = {8}}, {.placeholder = x, .shape = {8, 2}}},
                         {sum},
                         {},
                         {}};
  const BoundGraph bound = BindGraph(spec);
  ScheduleOptions options{.cut_feeds = {true, true}};
  const auto phases = [&] {
    const Schedule schedule = ScheduleGraph(bound, options);
    std::map<std::string, int> by_name;
    for (const auto& node : bound.graph->nodes()) {
      const int phase = schedule.nodes[static_cast<size_t>(node->id())].phase;
      if (phase > 0) by_name[node->name()] = phase;
    }
    return by_name;
  };
  CHECK(phases() ==
        std::map<std::string, int>{{"twice", 1}, {"dense", 1}, {"rows", 1}, {"sum", 1}});
  for (const auto& node : bound.graph->nodes()) options.asks.push_back(node->name() == "rows");
  CHECK(phases() ==
        std::map<std::string, int>{{"twice", 1}, {"dense", 2}, {"rows", 3}, {"sum", 3}});
  options.may_ask = std::exchange(options.asks, {});
  CHECK(phases().at("rows") == 1);
}

TEST_CASE("numbers that the step writes over are asked for as it found them") {
  TwoProcesses two;
  const OpRegistry registry(ops::AllOps());
  constexpr int64_t kIds = 4;
  int64_t wrong[2] = {};
  const auto run = [&](int rank) {
    Process& process = rank == 0 ? two.first : two.second;
    Graph graph(registry);
    VariableStore variables;
    variables.SetTable(process.columns[0].table);
    Variable* const table =
        graph.AddVariable("t", DType::kFloat, {kAskedRows, kAskedWidth}, graph.Scalar(0.0F));
    Variable* const next = graph.AddVariable("next", DType::kInt64, {kIds}, graph.Scalar(0.0F));
    Tensor first(DType::kInt64, {kIds});
    for (int64_t i = 0; i < kIds; ++i) first.data<int64_t>()[i] = 6 * i;
    variables.Set("next", first);
    Tensor three(DType::kInt64, {kIds});
    std::fill_n(three.data<int64_t>(), kIds, 3);
    const Value rows = ops::ResourceGather(table->handle, next->value, "rows");
    Node* const moved =
        graph.AddNode("AssignAddVariableOp", {next->handle, graph.Constant(three)}, {}, "moved");
    const ProgramSpec spec{&graph, {}, {rows, next->value}, {moved}, {}};
    const std::unique_ptr<Program> program = MakeCpuBackend()->Compile(
        spec, {.replicas = 2, .collective = &process.collective}, variables);
    const std::vector<StepFeeds> steps(3);
    int64_t step = 0;
    for (const StepResult& result : program->Run(steps)) {
      const Tensor& found = result.fetches[0][0];
      for (int64_t i = 0; i < kIds; ++i) {
        const auto row = static_cast<float>(6 * i + 3 * step);
        if (found.data<float>()[i * kAskedWidth] != -row) ++wrong[rank];
      }
      ++step;
    }
    if (step != 3) ++wrong[rank];
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}

}  // namespace tpuest
