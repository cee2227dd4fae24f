// Gates of evaluate --fail-if.

#include "cli/run/eval_gates.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/base/error.h"

namespace tpuest::cli {
namespace {

TEST_CASE("a gate fails if its comparison holds, and for NaN") {
  CHECK(ParseEvalGate("accuracy<0.9").FailsAt(0.8));
  CHECK(!ParseEvalGate("accuracy<0.9").FailsAt(0.9));
  CHECK(ParseEvalGate("accuracy <= 0.9").FailsAt(0.9));
  CHECK(ParseEvalGate("loss>1e-3").FailsAt(0.01));
  CHECK(!ParseEvalGate("loss>=-1").FailsAt(-2));
  CHECK(ParseEvalGate("loss>1").FailsAt(std::nan("")));
  CHECK(ParseEvalGate("test/label/mean < 1").metric == "test/label/mean");
}

TEST_CASE("an invalid gate is refused") {
  for (const char* text : {"", "accuracy", "accuracy<", "<0.9", "accuracy=0.9", "accuracy<x",
                           "accuracy<0.9x", "accuracy<nan", "accuracy<<1"}) {
    CHECK_THROWS_AS((void)ParseEvalGate(text), Error);
  }
}

TEST_CASE("failed gates keep their order; an unknown metric is refused with the known ones") {
  const auto failed = FailedGates(
      {ParseEvalGate("loss>0.1"), ParseEvalGate("accuracy<0.5"), ParseEvalGate("loss>0")},
      {{"accuracy", 0.75}, {"loss", 0.2}});
  REQUIRE(failed.size() == 2);
  CHECK(failed[0].text == "loss>0.1");
  CHECK(failed[1].value == 0.2);
  CHECK_THROWS_WITH_AS((void)FailedGates({ParseEvalGate("los>1")}, {{"loss", 0.2}}),
                       doctest::Contains("unknown metric 'los'"), Error);
}

}  // namespace
}  // namespace tpuest::cli
