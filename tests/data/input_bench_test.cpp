#include "data/pipeline/input_bench.h"

#include <doctest/doctest.h>

namespace tpuest::data {
namespace {

// Advances by a hundredth of a second each time it is read.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] double WallSeconds() const override { return Seconds(); }
  [[nodiscard]] double Seconds() const override { return now_ += 0.01; }

 private:
  mutable double now_ = 0;
};

InputFnOptions BenchedDigits() {
  InputFnOptions options;
  DigitsSource source;
  source.count = 20;
  options.source = source;
  options.labels = "label";
  return options;
}

TEST_CASE("stages are measured as they are there, each with what comes before it") {
  const SteppingClock clock;
  InputFnOptions options = BenchedDigits();
  const InputBenchArgs args{.clock = clock, .secs = 0.5, .context = {.batch_size = 4}};
  const InputBench plain = BenchInput(options, "train", args);
  REQUIRE(plain.stages.size() == 2);
  CHECK(plain.stages[0].stage == "read");
  CHECK(plain.stages[1].stage == "batch");
  CHECK(plain.examples_per_sec > 0);
  REQUIRE(plain.variants.size() == 1);
  CHECK(plain.variants[0].key == "cache: memory");

  options.cache = std::string("memory");
  options.shuffle.emplace();
  options.map = {CastMap{{.in = "image"}, "float32"}};
  const InputBench whole = BenchInput(options, "train", args);
  REQUIRE(whole.stages.size() == 4);
  CHECK(whole.stages[2].stage == "map");
  CHECK(whole.stages[3].stage == "shuffle");
  CHECK(whole.variants.empty());
  double sum = 0;
  for (const StageRate& stage : whole.stages) sum += stage.share;
  CHECK(sum == doctest::Approx(1));
}

}  // namespace
}  // namespace tpuest::data
