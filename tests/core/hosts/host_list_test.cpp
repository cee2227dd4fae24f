#include "core/hosts/host_list.h"

#include <doctest/doctest.h>

namespace tpuest::hosts {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("a host list is expanded as Slurm's scontrol show hostnames does") {
  CHECK(ExpandHostList("alone") == Names{"alone"});
  CHECK(ExpandHostList("a,b") == Names{"a", "b"});
  CHECK(ExpandHostList("n[001-003,007],gpu1") == Names{"n001", "n002", "n003", "n007", "gpu1"});
  CHECK(ExpandHostList("n[8-11]") == Names{"n8", "n9", "n10", "n11"});
  CHECK(ExpandHostList("n[08-11]") == Names{"n08", "n09", "n10", "n11"});
  CHECK(ExpandHostList("r[1-2]n[01-02]") == Names{"r1n01", "r1n02", "r2n01", "r2n02"});
  CHECK(ExpandHostList("n[1,3]-ib.local") == Names{"n1-ib.local", "n3-ib.local"});
}

TEST_CASE("a text that is not a host list is refused") {
  for (const char* const text : {"", "a,,b", "n[1", "n1]", "n[[1]]", "n[]", "n[a]", "n[3-1]",
                                 "n[1-]", "n[1-200000]", "n[1-999][1-999]", "n[1,]", "n[-1]"}) {
    CAPTURE(text);
    CHECK_FALSE(ExpandHostList(text));
  }
}

}  // namespace
}  // namespace tpuest::hosts
