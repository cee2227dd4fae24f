// The checks over all rows of op cases.

#include <doctest/doctest.h>

#include "core/base/error.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// An Error fails its row; all other rows still run.
void ForEachCase(void (*check)(const OpCase&)) {
  for (const OpCase& op_case : AllOpCases()) {
    INFO(NameOf(op_case));
    try {
      check(op_case);
    } catch (const Error& error) {
      FAIL_CHECK(std::string(error.what()));
    } catch (const InternalError& error) {
      FAIL_CHECK(std::string(error.what()));
    }
  }
}

TEST_CASE("every op infers the shapes and dtypes that it computes") { ForEachCase(CheckShapes); }
TEST_CASE("every op computes TensorFlow's values") { ForEachCase(CheckExpected); }
TEST_CASE("every gradient is the slope of its op") { ForEachCase(CheckNumericGradient); }
TEST_CASE("every op agrees with itself in double and bfloat16") { ForEachCase(CheckDTypes); }
TEST_CASE("every node survives GraphDef") { ForEachCase(CheckGraphDef); }
TEST_CASE("fused or not, an op gives the same") { ForEachCase(CheckFusion); }
TEST_CASE("a batch in blocks gives what it gives whole") { ForEachCase(CheckRows); }

}  // namespace
}  // namespace tpuest
