#include "core/base/process/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/write_permit.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

// Sets a variable of the environment for its lifetime.
class EnvironmentValue {
 public:
  EnvironmentValue(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = ::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~EnvironmentValue() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  EnvironmentValue(const EnvironmentValue&) = delete;
  EnvironmentValue& operator=(const EnvironmentValue&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

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
    CHECK(FileLock::IsHeld(path));  // a second query releases nothing
  }
  CHECK(!FileLock::IsHeld(path));
  CHECK(FileLock::TryAcquire(path) != nullptr);
}

TEST_CASE("a temporary folder is a new one below TMPDIR") {
  const TemporaryFolder folder;
  const EnvironmentValue tmpdir("TMPDIR", folder.path());
  const std::string first = MakeTemporaryFolder("a");
  const std::string second = MakeTemporaryFolder("a");
  CHECK(DirName(first) == folder.path());
  CHECK(BaseName(first).starts_with("a."));
  CHECK(DirectoryExists(first));
  CHECK(first != second);
}

TEST_CASE(
    "without a permit nothing gets a name, is appended to or is removed, and nothing is left") {
  const TemporaryFolder folder;
  const std::string path = folder.File("a");
  WriteFileAtomically(path, "before", /*fsync=*/false);
  AppendFile log(folder.File("log"));
  log.Append("before");
  AtomicFile begun(folder.File("begun"));
  begun.Append("some");
  const std::vector<std::string> names = {"a", "begun.tmp." + std::to_string(::getpid()), "log"};
  CHECK(ListDirectory(folder.File("")) == names);
  {
    const WritePermit permit([] { throw Error(Code::kLost, "given up"); });
    CHECK_THROWS_WITH_AS(WriteFileAtomically(path, "after"), "given up", Error);
    CHECK_THROWS_WITH_AS(log.Append("after"), "given up", Error);
    CHECK_THROWS_WITH_AS(begun.Commit(), "given up", Error);
    CHECK_THROWS_WITH_AS(MakeDirectories(folder.File("folder")), "given up", Error);
    CHECK_THROWS_WITH_AS(RenameFolder(path, folder.File("b")), "given up", Error);
    CHECK(!RemoveFile(path));
    CHECK(ReadFile(path) == "before");
    CHECK(ReadFile(folder.File("log")) == "before");
  }
  log.Append(", after");
  CHECK(ReadFile(folder.File("log")) == "before, after");
  CHECK(RemoveFile(path));
}

TEST_CASE("what is written atomically to a pipe goes through it, and leaves it there") {
  const TemporaryFolder folder;
  const std::string pipe = folder.File("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  WriteFileAtomically(pipe, "rows\n");
  std::string read(16, ' ');
  const ssize_t size = ::read(reader, read.data(), read.size());
  ::close(reader);
  REQUIRE(size == 5);
  CHECK(read.substr(0, 5) == "rows\n");
  struct stat info {};
  REQUIRE(::stat(pipe.c_str(), &info) == 0);
  CHECK(S_ISFIFO(info.st_mode));
  CHECK(ListDirectory(DirName(pipe)) == std::vector<std::string>{"pipe"});
}

TEST_CASE("only a file is read whole: a folder, a pipe or a device may have no end") {
  const TemporaryFolder folder;
  const std::string pipe = folder.File("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& [path, kind] : {std::pair(folder.path(), "a folder"), std::pair(pipe, "a pipe"),
                                   std::pair(std::string("/dev/zero"), "a device")}) {
    CHECK(KindOfOther(path) == kind);
    try {
      (void)ReadFile(path);
      FAIL("it was read");
    } catch (const Error& error) {
      CHECK(error.code() == Code::kData);
      CHECK(error.message() == path + ": is " + kind + ", expected a file");
    }
  }
  CHECK(GlobAll(folder.File("p*")) == std::vector{pipe});
  CHECK(Glob(folder.File("p*")).empty());
}

TEST_CASE("a line of words is as long as a word may be") {
  const TemporaryFolder folder;
  const std::string path = folder.File("words");
  const std::string most(kMostWordBytes, 'a');
  WriteFileAtomically(path, "a\n" + most + "\n");
  CHECK(ReadWords(path).size() == kMostWordBytes + 3);
  WriteFileAtomically(path, "a\n" + most + "a");
  try {
    (void)ReadWords(path);
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    CHECK(error.message() ==
          path + ": line 2 is of 1,048,577 bytes; expected a word of at most 1,048,576");
  }
}

TEST_CASE("folders are created with their parents, and a path that is not a folder is refused") {
  const TemporaryFolder folder;
  MakeDirectories(folder.File("a/b/c"));
  MakeDirectories(folder.File("a/b/c"));
  MakeDirectories(folder.File("a/b/d/"));
  CHECK(DirectoryExists(folder.File("a/b/c")));
  CHECK(DirectoryExists(folder.File("a/b/d")));
  WriteFileAtomically(folder.File("a/file"), "", /*fsync=*/false);
  for (const char* const below : {"a/file", "a/file/b", "a/file/b/c"}) {
    const std::string message =
        fmt::format("{}: cannot create this folder: Not a directory", folder.File(below));
    CHECK_THROWS_WITH_AS(MakeDirectories(folder.File(below)), message.c_str(), Error);
  }
}

TEST_CASE("where no temporary folder can be made an error names it") {
  const TemporaryFolder folder;
  const EnvironmentValue tmpdir("TMPDIR", folder.File("nowhere"));
  CHECK_THROWS_AS((void)MakeTemporaryFolder("a"), Error);
}

}  // namespace tpuest
