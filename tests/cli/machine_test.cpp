#include "cli/host/machine.h"

#include <doctest/doctest.h>

#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

TEST_CASE("a quota of cores is read from the control group") {
  CHECK(QuotaOf("150000 100000\n") == 1.5);
  CHECK_FALSE(QuotaOf("max 100000\n"));
  CHECK_FALSE(QuotaOf(""));
  CHECK_FALSE(QuotaOf("1 0"));
}

TEST_CASE("the chosen word is in brackets") {
  CHECK(ChosenOf("always [madvise] never\n") == "madvise");
  CHECK(ChosenOf("always").empty());
}

TEST_CASE("no text names a user") {
  CHECK(WithoutNames("/home/ann/runs and /home/ann", "/home/ann") == "~/runs and ~");
  CHECK(WithoutNames("/home/bob/x: no", "/home/ann") == "/home/~/x: no");
  CHECK(WithoutNames("/ann/.cache, /anna/x", "/ann") == "~/.cache, /anna/x");
  CHECK(WithoutNames("/home/bob", "") == "/home/~");
}

TEST_CASE("the disk of a missing folder is that of its nearest existing parent") {
  const TemporaryFolder folder;
  const DiskSpace disk = DiskAt(folder.File("a/b/c"));
  CHECK(disk.path == folder.path());
  CHECK(disk.writable);
  CHECK(disk.free > 0);
}

TEST_CASE("the machine has cores and memory") {
  const Machine machine = ThisMachine();
  CHECK(machine.cores >= machine.usable_cores);
  CHECK(machine.usable_cores > 0);
  CHECK(machine.memory >= machine.available);
  CHECK(machine.system.find("Linux") != std::string::npos);
}

}  // namespace
}  // namespace tpuest::cli
