#include "core/base/text.h"

#include <doctest/doctest.h>

namespace tpuest {

TEST_CASE("the nearest word is suggested only when it is near") {
  const std::vector<std::string> keys = {"iterations_per_loop", "num_shards"};
  CHECK(Nearest("itertions_per_loop", keys) == "iterations_per_loop");
  CHECK(Nearest("num_shard", keys) == "num_shards");
  CHECK(Nearest("colour", keys) == std::nullopt);
}

TEST_CASE("a word that was cut short is suggested whole") {
  const std::vector<std::string> types = {"AdamWeightDecayOptimizer", "AdamOptimizer", "Ftrl"};
  CHECK(Nearest("Adam", types) == "AdamOptimizer");
  CHECK(Nearest("AdamWei", types) == "AdamWeightDecayOptimizer");
  CHECK(Nearest("Ad", types) == std::nullopt);
}

TEST_CASE("numbers are written with the fewest digits that read back") {
  CHECK(NumberText(0.1) == "0.1");
  CHECK(NumberText(0.1F) == "0.1");
  CHECK(NumberText(1e-7) == "1e-07");
}

TEST_CASE("periods take units, and whole steps without one") {
  CHECK(ParsePeriod("500") == Period{500, Period::Unit::kSteps});
  CHECK(ParsePeriod("2ep") == Period{2, Period::Unit::kEpochs});
  CHECK(ParsePeriod("10m") == Period{600, Period::Unit::kSeconds});
  CHECK(ParsePeriod("1.5") == std::nullopt);
  CHECK(ParsePeriod("10 parsecs") == std::nullopt);
  CHECK(PeriodText({600, Period::Unit::kSeconds}) == "600s");
}

TEST_CASE("thousands are grouped") {
  CHECK(WithCommas(1234567) == "1,234,567");
  CHECK(WithCommas(-999) == "-999");
}

}  // namespace tpuest
