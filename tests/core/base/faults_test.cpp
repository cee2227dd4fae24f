#include "core/base/faults.h"

#include <doctest/doctest.h>

namespace tpuest {
namespace {

TEST_CASE("faults of a section have keys below it, or its own") {
  Faults faults("eval_spec");
  faults.Expect(true, "steps", "holds");
  faults.Expect(false, "steps", "does not", "hint");
  faults.Say("", "of the section");
  faults.ExpectPositive(std::optional(-1), "n", "count");
  faults.ExpectPositive(std::optional<int>(), "n", "count");
  const std::vector<Fault> all = faults.Take();
  REQUIRE(all.size() == 3);
  CHECK(all[0].key == "eval_spec.steps");
  CHECK(all[0].hint == "hint");
  CHECK(all[1].key == "eval_spec");
  CHECK(all[2].message == "count must be positive, got -1");
  CHECK(faults.empty());
  CHECK_NOTHROW(faults.ThrowAny(Code::kUsage));
}

TEST_CASE("an Error's faults are added to the list, and all are thrown as one Error") {
  Faults faults;
  faults.Say("a", "first");
  faults.Catch([] {
    throw Error(Code::kData, {{"second", "", "", {}, 0}, {"third", "", "", {}, 0}});
  });
  faults.Catch([] {});
  try {
    faults.ThrowAny(Code::kUsage);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    REQUIRE(error.faults().size() == 3);
    CHECK(error.faults()[2].message == "third");
  }
}

}  // namespace
}  // namespace tpuest
