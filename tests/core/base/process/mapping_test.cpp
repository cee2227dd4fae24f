#include "core/base/process/mapping.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest {

TEST_CASE("pages that a file has lost while it is mapped are zeros, and the mapping is cut") {
  const TemporaryFolder folder;
  const std::string path = folder.File("long");
  WriteFileAtomically(path, std::string(1 << 16, 'x'));
  const MappedFile whole(path);
  CHECK(!IsCut(whole.bytes().data()));
  REQUIRE(::truncate(path.c_str(), 5000) == 0);
  CHECK(whole.bytes()[4999] == 'x');
  CHECK(!IsCut(whole.bytes().data()));
  CHECK(std::all_of(whole.bytes().begin() + 8192, whole.bytes().end(),
                    [](char c) { return c == '\0'; }));
  CHECK(IsCut(whole.bytes().data()));
  // Another mapping of the file is not.
  const MappedFile rest(path);
  CHECK(rest.bytes().size() == 5000);
  CHECK(!IsCut(rest.bytes().data()));
}

}  // namespace tpuest
