#include "core/base/files.h"

#include <doctest/doctest.h>

#include "tests/temporary_folder.h"

namespace tpuest {

TEST_CASE("a lock is held by one, and asking whether it is takes it from nobody") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lock");
  CHECK(!FileLock::IsHeld(path));
  CHECK(!FileExists(path));
  {
    const auto lock = FileLock::TryAcquire(path);
    REQUIRE(lock != nullptr);
    CHECK(FileLock::IsHeld(path));
    CHECK(FileLock::TryAcquire(path) == nullptr);
    CHECK(FileLock::IsHeld(path));  // a second asker has let nothing go
  }
  CHECK(!FileLock::IsHeld(path));
  CHECK(FileLock::TryAcquire(path) != nullptr);
}

}  // namespace tpuest
