#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

constexpr std::string_view kDamagedJob =
    "version: 1\n"
    "name: \"a ${params.lr}\"\n"
    "params: {lr: 0.05, 'q': [1, \"x\"]}\n"
    "x-a: &a {files: [a, b], shuffle: 3}   # comment\n"
    "run:\n"
    "  model_dir: ${name}/x\n"
    "  cores: {shards: 8, per_loop: 60s}\n"
    "inputs:\n"
    "  train: &t\n"
    "    <<: *a\n"
    "    map:\n"
    "      - {op: crop, size: [2, 3]}\n"
    "      - op: scale\n"
    "        by: 1/255\n"
    "  test: {<<: [*t, *a], repeat: 1e0}\n"
    "optimizer: {type: Momentum, rate: {type: decay, steps: 10}, momentum: .5}\n"
    "eval: {v: {input: test, steps: null}}\n"
    "extra: |\n"
    "  text\n";

// Characters with a meaning to YAML or to the reader, and some without.
constexpr std::string_view kAlphabet =
    "\t\n\r !\"#$%&'()*+,-./0159:;<=>?@[]^_`abefinstuxy{|}~\x01\x7F\x80\xC3\xA9\xFF";

std::string Mutated(std::mt19937& random) {
  std::string text(kDamagedJob);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = kAlphabet[below(kAlphabet.size())];
        break;
      case 1:
        text.insert(at, 1, kAlphabet[below(kAlphabet.size())]);
        break;
      case 2:
        text.erase(at, 1 + below(3));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(30)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

// Every fault must have a message, and its place, if any, must lie inside the text.
void CheckFaults(const Outcome& outcome, const std::string& text) {
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n') +
                                      std::count(text.begin(), text.end(), '\r')) +
                     1;
  for (const Fault& fault : outcome.faults) {
    CAPTURE(text);
    CAPTURE(fault.message);
    CHECK_FALSE(fault.message.empty());
    CHECK(fault.place.line >= 1);
    CHECK(fault.place.line <= lines);
    CHECK(fault.place.column >= 1);
    CHECK(fault.width >= 0);
  }
}

TEST_CASE("a damaged job is read, or refused with faults that have a place") {
  std::mt19937 random(20240501);
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = Mutated(random);
    const Outcome outcome = ReadSample(text, {}, "/jobs/job.yaml");
    CheckFaults(outcome, text);
    if (!outcome.faults.empty()) continue;
    ++read;
    const Outcome again = ReadSample(WriteResolved(outcome.job, outcome.tree), {}, "/r.yaml");
    CAPTURE(text);
    CHECK(again.rendered == "");
    CHECK((again.job == outcome.job || outcome.job.scale != outcome.job.scale));
  }
  CHECK(read > 200);
  CHECK(read < 3000);
}

TEST_CASE("a damaged override is applied, or refused with faults") {
  std::mt19937 random(7);
  const std::vector<std::string> valid = {"inputs.train.map[0].size=[1, 2]", "eval={input: \"x\"}",
                                          "run.model_dir='a b'", "params.lr=1/255"};
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = valid[below(valid.size())];
    for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const size_t at = below(text.size());
      if (below(2) == 0)
        text.erase(at, 1);
      else
        text.insert(at, 1, kAlphabet[below(kAlphabet.size())]);
    }
    const Outcome outcome = ReadSample(kDamagedJob, {{text}});
    refused += outcome.faults.empty() ? 0 : 1;
    for (const Fault& fault : outcome.faults) CHECK_FALSE(fault.message.empty());
  }
  CHECK(refused > 500);
}

}  // namespace
}  // namespace tpuest::config
