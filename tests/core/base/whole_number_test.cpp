#include "core/base/whole_number.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace tpuest {
namespace {

TEST_CASE("a whole number is all of its text, in digits") {
  CHECK(WholeNumber<int64_t>("0") == 0);
  CHECK(WholeNumber<int64_t>("-12") == -12);
  CHECK(WholeNumber<int64_t>("007") == 7);
  for (const char* const text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x1", "--1", "one", "1\n"}) {
    CAPTURE(text);
    CHECK_FALSE(WholeNumber<int64_t>(text));
  }
}

TEST_CASE("a number that the type does not hold is none") {
  CHECK(WholeNumber<int64_t>("9223372036854775807") == INT64_MAX);
  CHECK_FALSE(WholeNumber<int64_t>("9223372036854775808"));
  CHECK(WholeNumber<uint16_t>("65535") == 65535);
  CHECK_FALSE(WholeNumber<uint16_t>("65536"));
  CHECK_FALSE(WholeNumber<uint16_t>("-1"));
}

}  // namespace
}  // namespace tpuest
