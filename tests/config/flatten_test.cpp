#include <doctest/doctest.h>

#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

TEST_CASE("a struct is a list of paths and values") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "params: {lr: 0.05}\n"
      "inputs: {train: {files: [a, b], map: [scale, {op: crop, size: [1, 2]}]}}\n"
      "optimizer: {type: Momentum, rate: {type: decay, steps: 10}, momentum: 0.9}\n");
  REQUIRE(outcome.rendered == "");
  const std::vector<FlatValue> values = Flatten(outcome.job);
  CHECK(FindText(values, "version") == "1");
  CHECK(FindText(values, "params.lr") == "0.05");
  CHECK(FindText(values, "inputs.train.files[1]") == "b");
  CHECK(FindText(values, "inputs.train.vocabulary") == "null");
  CHECK(FindText(values, "inputs.train.map[0].op") == "scale");
  CHECK(FindText(values, "inputs.train.map[1].size[0]") == "1");
  CHECK(FindText(values, "optimizer.type") == "Momentum");
  CHECK(FindText(values, "optimizer.rate.steps") == "10");
  CHECK(FindText(values, "rates") == "[]");
  CHECK(FindText(values, "inputs") == std::nullopt);
}

TEST_CASE("two structs differ in values, and in keys that one of them lacks") {
  const Outcome a = ReadSample("version: 1\nbatch: 8\nrates: [1, 2]\noptimizer: {type: Sgd}\n");
  const Outcome b = ReadSample("version: 1\nrates: [1]\noptimizer: {type: Sgd, rate: 0.5}\n");
  std::vector<std::string> lines;
  for (const Difference& difference : DifferencesOf(Flatten(a.job), Flatten(b.job))) {
    lines.push_back(difference.path + " " + difference.a.value_or("-") + " " +
                    difference.b.value_or("-"));
  }
  CHECK(lines == std::vector<std::string>{"batch 8 32", "optimizer.rate 0.1 0.5", "rates[1] 2 -"});
  CHECK(DifferencesOf(Flatten(a.job), Flatten(a.job)).empty());
}

}  // namespace
}  // namespace tpuest::config
