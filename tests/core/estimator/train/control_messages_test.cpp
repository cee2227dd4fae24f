// Control messages of a group's chief arrive unchanged, and variables that differ between processes
// are named.

#include "core/estimator/group/control_messages.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <thread>

#include "core/base/process/files.h"

namespace tpuest {
namespace {

using Variables = std::map<std::string, Tensor>;

hosts::GroupSettings SettingsOfTwo(const std::string& folder, int rank) {
  return {
      .links = {.rank = rank, .size = 2, .rendezvous = {.folder = folder}, .rendezvous_secs = 120},
      .peer_secs = 120,
      .step_secs = 120};
}

// Runs a chief and a worker, and returns what each threw: "code: message", or "".
std::vector<std::string> RunTwo(const std::function<void(hosts::Group& chief)>& chief,
                                const std::function<void(hosts::Group& worker)>& worker) {
  const std::string folder = MakeTemporaryFolder("orders_test");
  std::vector<std::string> thrown(2);
  const auto run = [&](int rank, const std::function<void(hosts::Group&)>& body) {
    try {
      hosts::Group group(SettingsOfTwo(folder, rank));
      body(group);
    } catch (const Error& error) {
      thrown[static_cast<size_t>(rank)] =
          fmt::format("{}: {}", static_cast<int>(error.code()), error.message());
    }
  };
  std::thread beside([&] { run(1, worker); });
  run(0, chief);
  beside.join();
  RemoveTree(folder);
  return thrown;
}

Variables SomeVariables() {
  return {{"dense/bias", Tensor::Of<float>({2}, {1, -2})},
          {"dense/kernel", Tensor::Of<float>({1, 2}, {0.5F, 0.25F})},
          {"global_step", Tensor::Scalar<int64_t>(7)}};
}

// The same variables, with the lowest mantissa bit of one number inverted.
Variables WithFlippedBit() {
  Variables variables = SomeVariables();
  uint32_t bits = 0;
  float* const number = variables.at("dense/kernel").data<float>() + 1;
  std::memcpy(&bits, number, sizeof bits);
  bits ^= 1U;
  std::memcpy(number, &bits, sizeof bits);
  return variables;
}

TEST_CASE("an order arrives as it was given") {
  const auto thrown = RunTwo(
      [](hosts::Group& chief) {
        SendControl(chief, StartMessage{.seed = 5,
                                        .seeds_by_name = true,
                                        .position = {2, 30},
                                        .variables = SomeVariables()});
        SendControl(chief, StepsMessage{.global_step = 7, .steps = 3, .after = {2, 42}});
        SendControl(chief, EvaluateMessage{.seed = 6,
                                           .seeds_by_name = true,
                                           .label = "test",
                                           .trained = {"dense/slot", "step"},
                                           .variables = SomeVariables()});
        SendControl(chief, BatchMessage{.after = {0, 12}});
        SendControl(chief, EndBatchesMessage());
        SendControl(chief,
                    RowRecordsMessage{
                        .table = "t", .what = RowRecords::kSeen, .first = 3, .count = 1 << 20});
        SendControl(chief, CountRecordsMessage{.table = "u", .what = RowRecords::kDropped});
        SendControl(chief, RowValuesMessage{.variable = "t/Adagrad", .rows = {7, 9}});
        SendControl(chief, ForgetChangesMessage());
        SendControl(chief, EndMessage{.exit_code = 75});
        (void)chief.Receive(1, hosts::Channel::kReports);
      },
      [](hosts::Group& worker) {
        const auto start = std::get<StartMessage>(ReceiveControl(worker));
        CHECK(start.seed == 5);
        CHECK(start.seeds_by_name);
        CHECK(start.position == StreamPosition{2, 30});
        REQUIRE(start.variables.size() == 3);
        CHECK(*start.variables.at("global_step").data<int64_t>() == 7);
        CHECK(start.variables.at("dense/kernel").shape() == Shape({1, 2}));
        CHECK(start.variables.at("dense/bias").data<float>()[1] == -2);
        const auto steps = std::get<StepsMessage>(ReceiveControl(worker));
        CHECK(steps.global_step == 7);
        CHECK(steps.steps == 3);
        CHECK(steps.after == StreamPosition{2, 42});
        const auto evaluation = std::get<EvaluateMessage>(ReceiveControl(worker));
        CHECK(evaluation.seed == 6);
        CHECK(evaluation.seeds_by_name);
        CHECK(evaluation.label == "test");
        CHECK(evaluation.trained == std::vector<std::string>{"dense/slot", "step"});
        CHECK(evaluation.variables.size() == 3);
        CHECK(std::get<BatchMessage>(ReceiveControl(worker)).after == StreamPosition{0, 12});
        CHECK(std::holds_alternative<EndBatchesMessage>(ReceiveControl(worker)));
        const auto lines = std::get<RowRecordsMessage>(ReceiveControl(worker));
        CHECK(lines.table == "t");
        CHECK(lines.what == RowRecords::kSeen);
        CHECK(lines.first == 3);
        CHECK(lines.count == 1 << 20);
        const auto count = std::get<CountRecordsMessage>(ReceiveControl(worker));
        CHECK(count.table == "u");
        CHECK(count.what == RowRecords::kDropped);
        const auto values = std::get<RowValuesMessage>(ReceiveControl(worker));
        CHECK(values.variable == "t/Adagrad");
        CHECK(values.rows == std::vector<int64_t>{7, 9});
        CHECK(std::holds_alternative<ForgetChangesMessage>(ReceiveControl(worker)));
        CHECK(std::get<EndMessage>(ReceiveControl(worker)).exit_code == 75);
        worker.Send(0, hosts::Channel::kReports, "taken");
      });
  CHECK(thrown == std::vector<std::string>(2));
}

TEST_CASE("a single different bit is reported with its variable in all processes") {
  Variables theirs = SomeVariables();
  std::vector<std::string> expected(2);
  SUBCASE("no process differs") {}
  SUBCASE("one process differs") {
    theirs = WithFlippedBit();
    const std::string told =
        "the variable dense/kernel of process 1 differs from that of process 0";
    expected = {"7: " + told, "7: process 0: " + told};
  }
  const auto thrown = RunTwo(
      [](hosts::Group& chief) {
        CompareVariables(chief, SomeVariables());
        SendControl(chief, EndMessage());
        (void)chief.Receive(1, hosts::Channel::kReports);
      },
      [&](hosts::Group& worker) {
        CHECK(std::holds_alternative<CompareMessage>(ReceiveControl(worker)));
        ReportVariables(worker, theirs);
        (void)ReceiveControl(worker);
        worker.Send(0, hosts::Channel::kReports, "taken");
      });
  CHECK(thrown == expected);
}

}  // namespace
}  // namespace tpuest
